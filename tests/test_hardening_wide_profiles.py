"""Profiles of wide data: small files, and a sentence where they would take the whole machine."""

import numpy as np
import pandas as pd
import pytest
from cospan.monitoring.moments import without_rows

from cospan import Profile, monitor
from cospan.errors import InputError, ModelFileError
from cospan.model_file.container import packed
from cospan.model_file.reader import Parts
from cospan.monitoring.files import FORMAT_VERSION, PROFILE, load_profile, profile_parts
from cospan.summary import Summary


def wide(rows, columns, seed=0):
    """Columns in units that are far apart."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, columns)) * 10.0 ** (np.arange(columns) % 13 - 6)
    return pd.DataFrame(values, columns=[f"c{j}" for j in range(columns)])


def scatter(profile):
    return np.asarray(profile.summary.scatter_about())


def test_few_rows_of_many_columns_make_a_small_file(tmp_path):
    profile = Profile.of(wide(12, 300))
    path = profile.save(tmp_path / "wide.cospan")
    assert path.stat().st_size < 500_000  # 600 features: 180,300 covariances are 1.4 MB
    again = Profile.load(path)
    unit = np.sqrt(np.maximum(np.diag(scatter(profile)), 1e-300))
    np.testing.assert_allclose(
        scatter(again) / unit / unit[:, None], scatter(profile) / unit / unit[:, None], atol=1e-12
    )


def test_a_tall_profile_is_kept_to_the_last_bit_and_without_zeros(tmp_path):
    profile = Profile.of(wide(200, 40))
    _, tensors = profile_parts(profile)
    assert len(tensors["scatter"]) == 40 * 41 // 2  # the 40 indicators never vary
    again = Profile.load(profile.save(tmp_path / "tall.cospan"))
    np.testing.assert_array_equal(scatter(again), scatter(profile))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scatter.varying", np.array([1, 0, 2], np.int64)),
        ("scatter.varying", np.array([0, 1, 999], np.int64)),
        ("scatter.factor", np.full((2, 300), np.inf)),
        ("scatter.factor", np.full((2, 300), 1e200)),
        ("scatter.factor", np.ones((2, 299))),
    ],
)
def test_damaged_factors_are_refused(name, value, tmp_path):
    settings, tensors = profile_parts(Profile.of(wide(12, 300)))
    path = tmp_path / "bad.cospan"
    path.write_bytes(packed(Parts(settings, tensors | {name: value}), PROFILE, FORMAT_VERSION))
    with pytest.raises(ModelFileError):
        load_profile(path)


def test_more_columns_than_a_profile_takes_are_refused_at_once():
    said = r"6,000 columns make 12,000 features .* at most 3,000; choose some with columns="
    with pytest.raises(InputError, match=said):
        Profile.of(wide(2, 6000))
    with pytest.raises(InputError, match="it has 3,001 features"):
        monitor(np.zeros((20, 3001)), np.zeros((20, 3001)), every=5)


@pytest.mark.parametrize("place", [0, 50, 99])
def test_a_level_or_an_outlier_that_one_row_has_is_no_trouble(place):
    """Without that row the feature is constant, and not a rounding error of correlation above 1."""
    frame = pd.DataFrame({"s": ["b"] * 100, "x": np.arange(100.0), "y": np.sin(np.arange(100.0))})
    frame.loc[place, "s"] = "a"
    Profile.of(frame)
    monitor(frame, frame, every=20)
    frame.loc[place, "y"] = 1e9
    Profile.of(frame, every=20)
    without = without_rows(Summary.of(np.array([[0.1], [0.1], [0.1], [7.7]])), np.array([[7.7]]))
    assert float(without.scatter_about()[0, 0]) == 0.0
