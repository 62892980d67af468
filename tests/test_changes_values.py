"""Single values: spikes, rounding, columns with two values, columns that do not vary."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from cospan import JointFrame, compare
from cospan._numbers import exact_number
from cospan.changes import Changes, find_changes
from cospan.changes.repeats import FEWEST_ROWS, multiples, repeats_in
from cospan.changes.wording import rows_of, shares_of

N = 600


def changes(a: np.ndarray, b: np.ndarray, names: tuple[str, str] = ("A", "B")) -> Changes:
    """What changed in the column "x"; beside it are three that did not."""
    rng = np.random.default_rng(99)
    rows = [np.column_stack([x, rng.normal(size=(len(x), 3))]) for x in (a, b)]
    called = ["x", "u", "v", "w"]
    return find_changes(JointFrame.fit(*rows), *rows, names=called, set_names=names)


def of_x(found: Changes) -> list[str]:
    return [text for text in found.verdict.sentences if text.startswith("x ")]


def drawn(seed: int, n: int = N) -> np.ndarray:
    return np.round(np.random.default_rng(seed).normal(50, 9, n), 2)


def spiked(value: float, share: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    a, b = drawn(0), drawn(1)
    b[: round(share * N)] = value
    return a, b


@pytest.mark.parametrize("value", [0.0, -999.0, 50.0, 51.07])
def test_value_that_only_one_set_has_is_the_change(value: float) -> None:
    """Inside the range or far outside: neither a mean nor a spread is said."""
    a, b = spiked(value)
    a[a == value], b[30:][b[30:] == value] = 48.0, 48.0
    found = changes(a, b)
    assert of_x(found) == [f"x is {exact_number(value)} in 5 % of B's rows and never in A's."]
    one = found.features["x"]
    assert (one.change, one.changed, found.features[0].name) == ("value", True, "x")
    assert one.p_adjusted <= 0.001
    assert found.verdict.differs
    assert one.spike is not None
    assert one.spike[:3] == (value, 0.0, 0.05)
    assert json.loads(json.dumps(one.to_dict()))["spike"] == {"value": value, "a": 0.0, "b": 0.05}


def test_pvalue_of_a_value_is_fishers_times_the_number_of_values_asked() -> None:
    a, b = spiked(0.0)
    _, counts = np.unique(np.concatenate([a, b]), return_counts=True)
    asked = int((counts >= FEWEST_ROWS).sum())
    table = [[N, 0], [N - 30, 30]]
    tail = stats.fisher_exact(table, alternative="greater").pvalue
    expected = min(1.0, 2 * tail * asked)
    log_p = repeats_in(a, b, units=False).tests["value"]
    assert log_p == pytest.approx(np.log(expected), rel=1e-6)


def test_end_apart_from_all_others_has_half_of_the_level() -> None:
    """So 15 rows of 500 with a weight of -1 are enough, however many weights there are."""
    rng = np.random.default_rng(3)
    a, b = (np.round(rng.normal(7.2, 1.5, 500).clip(0.75), 1) for _ in "ab")
    b[:15] = -1
    both = np.concatenate([a, b])
    counts = np.unique(both, return_counts=True)[1]
    others = int((counts >= FEWEST_ROWS).sum()) - 1
    assert others > 40
    tail = stats.fisher_exact([[500, 0], [485, 15]], alternative="greater").pvalue
    log_p = repeats_in(a, b, units=False).tests["value"]
    assert log_p == pytest.approx(np.log(2 * tail * 2), rel=1e-6)
    # The p-value of a value inside the range is that of the others, with the other half.
    inside = np.where(both == -1, 7.13, both)
    log_p = repeats_in(inside[:500], inside[500:], units=False).tests["value"]
    assert log_p == pytest.approx(np.log(2 * tail * (others + 1)), rel=1e-6)
    assert of_x(changes(a, b)) == ["x is -1 in 3 % of B's rows and never in A's."]


def test_pvalues_of_values_hold_their_level_where_an_end_is_apart() -> None:
    """Of sets drawn from one distribution, with -1 in 3 % of the rows of both."""
    rng = np.random.default_rng(4)
    rejected = 0
    for _ in range(400):
        both = np.round(rng.normal(7.2, 1.5, 600).clip(0.75), 1)
        both[rng.random(600) < 0.03] = -1
        rejected += repeats_in(both[:300], both[300:], units=False).tests["value"] <= np.log(0.05)
    assert rejected <= 400 * 0.05


def test_value_beyond_the_range_is_the_change_beside_a_frequent_one() -> None:
    """The lowest of the other values is as frequent, and those above it changed as well."""
    rng = np.random.default_rng(5)
    a, b = (np.round(rng.gamma(2, 3, 4000) + 0.5, 2) for _ in "ab")
    for x in (a, b):
        x[rng.random(4000) < 0.08] = 0.5
    b[b > 0.5] += 1
    b[rng.random(4000) < 0.04] = -1
    (said,) = of_x(changes(a, b))
    assert said.startswith("x is -1 in 4 % of B's rows and never in A's; otherwise it rose from ")


def test_value_that_explains_a_change_is_named_though_it_does_not_stand_out() -> None:
    """Whole numbers from 2 on in A, and in B some 1; the next ones are more frequent."""
    rng = np.random.default_rng(6)
    a, b = (rng.integers(2, 10, size=3000).astype(float) for _ in "ab")
    b[rng.random(3000) < 0.06] = 1
    found = changes(a, b)
    assert found.features["x"].spike.clear is False
    assert of_x(found) == ["x is 1 in 6 % of B's rows and never in A's."]


def test_single_value_is_no_matter_of_rounding() -> None:
    """Sizes of companies: 1, 10, 20, 100, …; the one that is no multiple of 10 is the change."""
    rng = np.random.default_rng(7)
    sizes = [10.0, 20.0, 100.0, 500.0, 1000.0, 5000.0, 10000.0]
    a, b = (rng.choice(sizes, size=2000) for _ in "ab")
    a[rng.random(2000) < 0.06], b[rng.random(2000) < 0.17] = 1, 1
    found = changes(a, b)
    assert "rounding" not in found.features["x"].ways
    assert of_x(found) == ["x is 1 in 6 % of A's rows and 18 % of B's."]


def test_value_more_frequent_in_both_sets() -> None:
    a, b = spiked(0.0, 0.4)
    a[:60] = 0.0
    assert of_x(changes(a, b)) == ["x is 0 in 10 % of A's rows and 40 % of B's."]


def test_other_rows_that_changed_as_well_are_said_apart() -> None:
    """The mean is then that of the rows without the value."""
    a, b = spiked(-999.0)
    b[40:] += 9
    (text,) = of_x(changes(a, b))
    mean = b[b != -999].mean()
    assert text.startswith("x is -999 in 5 % of B's rows and never in A's; otherwise it rose from ")
    assert f" to {mean:.1f}, " in text


def test_shift_stays_a_shift_of_whole_numbers() -> None:
    """Every single value changes its share then, and none of them is the story."""
    a, b = np.round(drawn(0)), np.round(drawn(1)) + 6
    assert changes(a, b).features["x"].change == "mean"


@pytest.mark.parametrize("unit", [10.0, 5.0, 2.0, 1.0, 0.25, 0.1, 0.02])
def test_rounded_values_are_named(unit: float) -> None:
    a, b = drawn(0) * 2 * unit, drawn(1) * 2 * unit
    b = np.round(b / unit) * unit
    found = changes(a, b)
    (text,) = of_x(found)
    assert found.features["x"].change == "rounding"
    share = np.mean(multiples(a, unit))
    what = "a whole number" if unit == 1 else f"a multiple of {unit:g}"
    assert text == f"x is {what} in every row of B, in {share:.0%} of A's rows: rounded?".replace(
        "%", " %"
    )


def test_hundredths_that_became_whole_numbers_are_not_rounded() -> None:
    (text,) = [x for x in of_x(changes(drawn(0), 100 * drawn(1))) if "whole number" in x]
    assert "is a whole number in every row of B, in" in text
    assert "rounded?" not in text


def test_precision_of_storage_is_not_rounding() -> None:
    a = drawn(0)
    found = repeats_in(a.astype(np.float32).astype(np.float64), a, units=True)
    assert found.tests["rounding"] == 0
    exact = np.random.default_rng(0).normal(50, 9, N)
    exact[:9] = exact[0]
    assert "rounding" not in repeats_in(exact, np.round(exact, 5), units=True).tests


def test_column_of_two_values_has_a_share() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.random(N) < 0.05).astype(float), (rng.random(N) < 0.15).astype(float)
    found = changes(a, b)
    one = found.features["x"]
    shares = tuple(f"{100 * x.mean():.0f} %" for x in (a, b))
    assert of_x(found) == [f"x is 1 in {shares[0]} of A's rows and {shares[1]} of B's."]
    assert one.change == "levels"
    assert not {"mean", "spread", "shape", "value"} & set(one.tests)
    assert one.b.levels == pytest.approx({"0": 1 - b.mean(), "1": b.mean()})
    assert found.verdict.mostly == "levels"
    # The same with any two numbers, and with yes and no.
    other = changes(3 + 4 * a, 3 + 4 * b)
    assert of_x(other) == [f"x is 7 in {shares[0]} of A's rows and {shares[1]} of B's."]


def test_two_values_of_which_one_set_lacks_one_are_said_once() -> None:
    rng = np.random.default_rng(0)
    found = changes(np.zeros(N), (rng.random(N) < 0.2).astype(float))
    assert of_x(found) == [f"x is 1 in 0 % of A's rows and {of_x(found)[0].split(' and ')[1]}"]


@pytest.mark.parametrize("value", [3.2, 0.1 + 0.2, -7.0])
def test_column_that_does_not_vary_is_said_once(value: float) -> None:
    """A mean of equal numbers is off by an eps, and so is their spread."""
    noise = np.random.default_rng(0).integers(0, 2, N) * abs(value) * 2.0**-52
    for b in (np.full(N, value), value + noise):
        (text,) = of_x(changes(drawn(0), b))
        assert text.endswith(f"does not vary in B (always {value:.3g}).")


def test_random_halves_are_quiet() -> None:
    """Both new tests together keep their level on a column with many ties."""
    rng = np.random.default_rng(7)
    called = 0
    for _ in range(400):
        x = np.round(np.maximum(0, rng.normal(20, 15, 400)), int(rng.integers(0, 2)))
        tests = repeats_in(x[:200], x[200:], units=True).tests
        called += min(tests.values()) + np.log(len(tests)) <= np.log(0.05)
    assert called <= 0.06 * 400


def test_what_is_asked_does_not_depend_on_the_set() -> None:
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(20, 5, 500), 1)
    known = repeats_in(x[:100], x[100:], units=True).tests.keys()
    shuffled = rng.permutation(x)
    assert repeats_in(shuffled[:100], shuffled[100:], units=True).tests.keys() == known


def test_shares_in_sets_with_quoted_names() -> None:
    a, b = spiked(0.0)
    (text,) = of_x(changes(a, b, ("no", "yes")))
    assert text == "x is 0 in 5 % of the rows of 'yes' and never in 'no'."
    assert shares_of(("9 %", "28 %"), ("'no'", "'yes'")) == (
        "9 % of the rows of 'no' and 28 % of those of 'yes'"
    )
    assert rows_of("'no'", "known values") == "the known values of 'no'"


def test_sample_claims_nothing_of_all_rows() -> None:
    """Rows that were not looked at may have the value, unless it is beyond the range of them."""
    a, b = spiked(50.0)
    rng = np.random.default_rng(5)
    rows = [np.column_stack([x, rng.normal(size=N)]) for x in (np.where(a == 50, 49, a), b)]
    frame = JointFrame.fit(*(np.concatenate([x, x + 1e-3]) for x in rows))
    texts = of_x(find_changes(frame, *rows, names=["x", "u"]))
    assert texts[0] == "x is 50 in 5 % of B's rows and hardly ever in A's."


def test_terminal_json_and_verdict_agree_on_a_spike(tmp_path) -> None:
    pd = pytest.importorskip("pandas")
    a, b = spiked(0.0)
    u = np.random.default_rng(5).normal(size=(2, N))
    paths = [tmp_path / f"{name}.csv" for name in "AB"]
    for path, x, own in zip(paths, (a, b), u, strict=True):
        pd.DataFrame({"wage": x, "u": own}).to_csv(path, index=False)
    found = compare(*paths, n_permutations=99)
    text = "wage is 0 in 5 % of B.csv's rows and never in A.csv's."
    assert text in found.verdict.sentences
    assert text in " ".join(found.summary().split())
    row = next(one for one in found.to_dict()["changes"]["features"] if one["name"] == "wage")
    assert row["change"] == "value"
    assert row["p_adjusted"] <= 0.001
    page = tmp_path / "page.html"
    found.save_html(page)
    assert "wage is 0 in 5 %" in page.read_text(encoding="utf-8")


def test_spike_is_named_where_it_stands_out_and_rounding_where_all_is_rounded() -> None:
    """Whole years thin out towards one end: no single one of them is the story."""
    rng = np.random.default_rng(4)
    a, b = np.floor(25 + rng.exponential(9, N)), np.floor(25 + rng.exponential(14, N))
    assert "value" not in changes(a, b).features["x"].ways
    fine = drawn(0) / 10
    (text,) = of_x(changes(fine, np.round(drawn(1) / 100) * 10))
    assert "is a multiple of 10 in every row of B, in 0 % of A's rows: rounded?" in text


def test_zeros_are_not_rounded_values() -> None:
    """0 is a multiple of everything; more of them is a matter of the value 0."""
    a, b = np.round(drawn(0)), np.round(drawn(1))
    a[:60], b[:240] = 0, 0
    found = repeats_in(a, b, units=True)
    assert found.tests["rounding"] > np.log(0.05)
    assert of_x(changes(a, b)) == ["x is 0 in 10 % of A's rows and 40 % of B's."]


def test_offset_of_whole_numbers_is_a_mean_first() -> None:
    """That values are whole no more comes second, and nothing was rounded in B."""
    found = changes(np.round(drawn(0)), np.round(drawn(1)) + 6.25)
    assert found.features["x"].change == "mean and rounding"
    (text,) = of_x(found)
    assert text.startswith("x rose from ")
    assert text.endswith(", and is a whole number in every row of A, in 0 % of B's rows.")
