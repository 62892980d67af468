"""Figures: they show the numbers they were given, on the axes they were given."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from cospan import JointFrame, extreme_directions
from cospan.errors import InputError
from cospan.evidence import angle_histogram
from cospan.plots import plot_angles, plot_directions, plot_samples
from report_cases import HOSTILE, comparison


@pytest.fixture(scope="module")
def digits_frame(request):
    A, B = request.getfixturevalue("digits_pair")
    return JointFrame.fit(A, B, shrinkage=0.1)


@pytest.fixture(scope="module")
def table():
    return comparison(n_z=100)


@pytest.fixture(scope="module")
def pictures():
    return comparison(d=64, image_shape=(8, 8))


def drawn(ax):
    """Render the figure, so that whatever is wrong with it shows."""
    ax.get_figure().canvas.draw()
    return ax


def test_importing_plots_imports_no_matplotlib():
    code = "import sys, cospan.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_drawing_leaves_pyplot_alone():
    code = (
        "import sys, numpy as np; from cospan.plots import plot_angles;"
        "plot_angles(np.array([0.1]), np.array([1.0]));"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def every_plot(table, pictures, frame):
    return {
        "angles": lambda ax: plot_angles(table, ax=ax),
        "directions": lambda ax: plot_directions(frame, image_shape=(8, 8), ax=ax),
        "samples": lambda ax: plot_samples(pictures, ax=ax),
    }


@pytest.mark.parametrize("name", list(every_plot(None, None, None)))
def test_draws_on_the_given_axes_and_returns_them(name, table, pictures, digits_frame):
    plot = every_plot(table, pictures, digits_frame)[name]
    ax = Figure().add_subplot()
    assert plot(ax) is ax
    drawn(ax)
    assert drawn(plot(None)) is not ax


def test_histograms_show_the_shares_of_all_rows(table):
    ax = plot_angles(table)
    filled_a, _, filled_b, *_ = ax.patches
    for patch, group in ((filled_a, table.groups[0]), (filled_b, table.groups[1])):
        shares = angle_histogram(group.alignment.theta, 30)
        np.testing.assert_allclose(patch.get_data().values, 100 * shares)


def test_arrays_of_angles_are_binned_like_angle_histogram():
    theta = np.radians([10.0, 11, 40, 80])
    ax = plot_angles(theta, theta[::-1], bins=18, threshold=np.pi / 4)
    np.testing.assert_allclose(ax.patches[0].get_data().values, 100 * angle_histogram(theta, 18))
    assert ax.lines[0].get_xdata()[0] == pytest.approx(45)


def test_directions_are_the_rows_of_the_frame(digits_frame):
    ax = plot_directions(digits_frame, n=2, image_shape=(8, 8), cmap="viridis")
    first, *_, last = ax.child_axes
    H = np.asarray(digits_frame.H)
    np.testing.assert_array_equal(first.images[0].get_array(), H[0].reshape(8, 8))
    np.testing.assert_array_equal(last.images[0].get_array(), H[-1].reshape(8, 8))
    assert first.images[0].get_cmap().name == "viridis"


def test_chosen_directions_are_one_strip(digits_frame):
    ax = plot_directions(extreme_directions(digits_frame, "A", 3), image_shape=(8, 8))
    assert len(ax.child_axes) == 3
    assert ax.child_axes[0].get_title().endswith("°")


def test_shared_directions_are_the_strong_ones_not_dead_pixels(digits_frame):
    shared = plot_directions(digits_frame, n=3, image_shape=(8, 8)).child_axes[3:6]
    shown = sorted(np.linalg.norm(panel.images[0].get_array()) for panel in shared)
    H, degrees = np.asarray(digits_frame.H), np.degrees(digits_frame.angles)
    alike = (np.abs(degrees - 45) <= 10) & (np.abs(digits_frame.shifts) <= 0.5)
    np.testing.assert_allclose(shown, np.sort(np.linalg.norm(H[alike], axis=1))[-3:])


def test_no_direction_is_called_shared_where_none_is():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(200, 2)) * [1, 9], rng.normal(size=(200, 2)) * [9, 1]
    headings = [
        text.get_text()
        for text in plot_directions(JointFrame.fit(A, B), n=1, image_shape=(1, 2)).texts
    ]
    assert headings == ["like A", "like B"]
    moved = JointFrame.fit(rng.normal(size=(200, 1)), rng.normal(5, 1, size=(200, 1)))
    headings = [text.get_text() for text in plot_directions(moved, n=1, image_shape=(1, 1)).texts]
    assert headings in (["like A"], ["like B"])  # as wide in both sets, but apart


def test_samples_of_a_comparison_are_sorted_by_angle(pictures):
    titles = [panel.get_title() for panel in plot_samples(pictures, n=4).child_axes]
    angles = [float(title.split()[1][:-1]) for title in titles]
    assert angles[:4] == sorted(angles[:4])
    assert angles[8:] == sorted(angles[8:])
    assert max(angles[:4]) < min(angles[4:8]) <= max(angles[4:8]) < min(angles[8:])
    assert {title[0] for title in titles} <= {"A", "B"}


def test_colour_pictures_are_drawn_in_colour():
    rows = np.random.default_rng(0).uniform(0, 255, (2, 4 * 5 * 3))
    ax = plot_samples(rows, image_shape=(4, 5, 3))
    assert ax.child_axes[0].images[0].get_array().shape == (4, 5, 3)


@pytest.mark.filterwarnings("ignore:Glyph .* missing")  # the font may lack a script or emoji
@pytest.mark.filterwarnings("ignore:Matplotlib currently does not support")
def test_hostile_names_draw_as_text():
    nasty = [text + "$\\frac{1}{" for text in HOSTILE.values()]
    for name in nasty:
        drawn(plot_angles([0.1, 0.2], [0.9], names=(name, name)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_angles(np.ones((2, 2)), np.ones(2)), "shape"),
        (lambda: plot_angles(np.ones(2), np.ones(2), names=("one",)), "names has 1"),
        (lambda: plot_samples(np.ones((2, 12)), image_shape=(3, 5)), "image_shape"),
        (lambda: plot_samples(np.ones((2, 12))), "give image_shape"),
        (lambda: plot_samples(np.ones((2, 12)), titles=["one"]), "titles has 1"),
        (lambda: plot_directions(np.ones((2, 12)), titles=["one"]), "titles has 1"),
    ],
)
def test_what_does_not_fit_is_said(call, message):
    with pytest.raises(InputError, match=message):
        call()
