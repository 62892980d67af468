"""What an encoding plan makes of a column, and the sketches and readings it rests on."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cospan.data import READINGS, EncodingPlan, encode, open_source
from cospan.errors import CospanWarning, InputError
from opened import learn_plan, opened

DAY = 86_400


def plan_of(*columns, **options):
    """The plan for one column called x, one set for each argument."""
    return learn_plan(
        [open_source({"x": column}, name=f"s{i}", **options) for i, column in enumerate(columns)]
    )


def encoded(column, **options):
    source = opened({"x": column}, **options)
    return source.plan["x"], source.read().rows


# Numbers, booleans, dates, durations ---------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "reading", "values"),
    [
        (["1", "-2.5", "+3e2", ".5"], "point", [1, -2.5, 300, 0.5]),
        (["1,5", "2", "-0,25"], "comma", [1.5, 2, -0.25]),
        (["1.234,5", "1.000", "2,25"], "comma", [1234.5, 1000, 2.25]),
        (["1,234", "1,234,567", "5"], "thousands", [1234, 1234567, 5]),
        (["1,234", "12.5"], "thousands", [1234, 12.5]),
        (["1 234.5", "12", "1\u202f234\u202f567"], "point", [1234.5, 12, 1234567]),
        (["1 234,5", "12", "-1'234"], "comma", [1234.5, 12, -1234]),
        (["5%", "12.5 %", "-0.5%"], "point %", [5, 12.5, -0.5]),
        (["$1,234.50", "-$5", "$ 7"], "thousands $", [1234.5, -5, 7]),
        (["1.234,50 €", "7 €"], "comma €", [1234.5, 7]),
        (["1970-01-03", "1970-01-01T12:00:00Z"], "iso date", [2, 0.5]),
        (["1970-01-01 06:00", "1970-01-01T01:00:00+0100"], "iso date", [0.25, 0]),
        (["2.1.1970", "31.12.1969"], "day.month.year", [1, -1]),
        (["02/01/1970", "31/12/1969"], "day/month/year", [1, -1]),
        (["1970/01/02", "1969/12/31", "1970/1/3"], "year/month/day", [1, -1, 2]),
        (["01/02/1970", "12/31/1969"], "month/day/year", [1, -1]),
        (["6:00", "18:00:00", "00:00:43.2"], "clock", [0.25, 0.75, 0.0005]),
    ],
)
def test_texts_that_all_read_the_same_way_are_numbers(texts, reading, values):
    column, rows = encoded(texts)
    plainly = reading in ("point", "iso date", "clock")
    assert (column.kind, column.reading) == (READINGS[reading].kind, "" if plainly else reading)
    np.testing.assert_allclose(rows[:, 0], values, rtol=1e-15, atol=1e-17)


@pytest.mark.parametrize("texts", [["1,234", "5,678"], ["03/04/2020", "01/02/2020"]])
def test_ambiguous_text_is_left_out_with_the_reason(texts):
    with pytest.warns(CospanWarning, match="can be read in several ways"):
        plan = learn_plan([open_source({"x": texts, "y": [1.0, 2.0]})])
    assert repr(texts[0]) in plan.left_out["x"]


def test_one_value_of_another_set_settles_what_the_text_means():
    assert plan_of(["1,234", "5,678"], ["1,5"])["x"].reading == "comma"
    assert plan_of(["1,234", "5,678"], ["1,234,567"])["x"].reading == "thousands"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([True, False, True], ()),
        (["yes", "No", "YES"], ("no", "yes")),
        (["true", "false", "True"], ()),
        (["Y", "N", "y"], ("n", "y")),
        (pd.Categorical(["yes", "no", "yes"]), ("no", "yes")),
    ],
)
def test_booleans_are_zero_and_one(values, words):
    column, rows = encoded(values)
    assert (column.kind, column.levels) == ("boolean", words)
    np.testing.assert_array_equal(rows, [[1], [0], [1]])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_and_durations_are_days_whatever_the_unit(unit):
    moments = pd.to_datetime(["2020-02-29 07:08:09", "1969-12-31 00:00:00", None])
    stamps = pa.array(moments).cast(pa.timestamp(unit))
    column, rows = encoded(stamps)
    assert column.kind == "date"
    assert rows[0, 0] == 18321 + (7 * 3600 + 8 * 60 + 9) / DAY
    assert rows[1, 0] == -1
    spans = pa.array([90, -DAY], pa.duration("s")).cast(pa.duration(unit))
    column, rows = encoded(spans)
    assert column.kind == "duration"
    np.testing.assert_array_equal(rows[:, 0], [90 / DAY, -1])


def test_dates_in_text_in_days_and_in_nanoseconds_are_one_column():
    plan = plan_of(
        ["2020-01-01", "2020-01-03"],
        pa.array(["2020-01-02"]).cast(pa.timestamp("s")).cast(pa.date32()),
        pa.array(["2020-01-02T12:00:00"]).cast(pa.timestamp("ns")),
    )
    assert plan["x"].kind == "date"
    assert plan["x"].fill == pytest.approx((18262 + (1 + 1 + 1.5) / 3,), rel=1e-9)


def days(first, n):
    return pd.date_range(first, periods=n).strftime("%Y-%m-%d").tolist()


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ((days("2020-01-01", 9), days("2020-02-01", 9)), "time"),
        ((days("2020-02-01", 9), days("2020-01-01", 9), days("2020-03-01", 9)), "time"),
        ((days("2020-02-01", 90), days("2020-01-01", 3)), "time"),
        ((days("2020-01-01", 9), days("2020-01-09", 9)), "date"),  # they share a day
        ((days("2020-01-01", 9), days("2020-02-01", 9), days("2020-02-05", 9)), "time"),
        ((days("2020-01-01", 9), days("2020-01-09", 9), days("2020-01-17", 9)), "date"),
        (
            (days("2020-01-01", 90), days("2020-01-05", 9), days("2020-02-20", 9)),
            "date",
        ),  # one in one
        ((days("2020-01-01", 3), days("2020-02-01", 3)), "date"),  # chance does that: 1 in 10
        ((days("2020-01-01", 99),), "date"),
    ],
)
def test_a_date_is_a_time_where_some_sets_end_before_the_others_begin(columns, kind):
    tables = [
        {"x": pa.array(column).cast(pa.timestamp("s")), "y": np.arange(len(column)) % 4 / 2}
        for column in columns
    ]
    for how in (tables, [{**table, "x": x} for table, x in zip(tables, columns, strict=True)]):
        sources = [open_source(table) for table in how]
        plan = learn_plan(sources)
        assert plan["x"].kind == kind
        assert plan.feature_names == (("x", "y") if kind == "date" else ("y",))
        assert EncodingPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
        if kind == "time":
            chunk = encode(sources)[0].read()
            first = pd.Timestamp(columns[0][0]) - pd.Timestamp("1970-01-01")
            np.testing.assert_array_equal(
                chunk.times[:, 0], first.days + np.arange(len(columns[0]))
            )
            assert plan.columns[0].reason.startswith("its dates hardly overlap")


# Categories ----------------------------------------------------------------------------------


def test_the_thirty_most_frequent_levels_stay_and_the_rest_is_other():
    texts = [f"level {i:02}" for i in range(40) for _ in range(50 - i)]
    column, rows = encoded(texts)
    assert column.levels == tuple(f"level {i:02}" for i in range(30))
    assert column.other
    assert rows.shape[1] == 31
    np.testing.assert_array_equal(rows.sum(axis=1), 1)
    assert rows[:, 30].sum() == sum(50 - i for i in range(30, 40))
    np.testing.assert_allclose(column.fill, rows.mean(axis=0), rtol=1e-14)


def test_many_categories_have_fewer_levels_each():
    texts = [f"l{i:02}" for i in range(30)] + ["l00"] * 10
    plan = learn_plan([open_source({f"c{k}": texts for k in range(60)})])
    column = plan["c7"]
    assert column.levels == tuple(f"l{i:02}" for i in range(10))
    assert column.other
    assert sum(column.fill) == pytest.approx(1)
    assert len(plan.feature_names) == 660


@pytest.mark.parametrize(
    "make",
    [
        lambda v: pa.array(v).dictionary_encode(),
        lambda v: pd.Categorical(v),
        lambda v: pa.array(v, pa.large_string()),
        lambda v: pa.array(v, pa.string_view()),
        lambda v: np.array(v, dtype=object),
    ],
)
def test_all_ways_to_hold_texts_are_one(make):
    texts = ["b", "a", "b", "c"]
    assert plan_of(make(texts)) == plan_of(texts)


def test_a_level_called_other_and_a_clash_of_names():
    texts = ["other"] * 3 + [f"l{i:02}" for i in range(40)] * 2
    names = plan_of(texts).feature_names
    assert len(set(names)) == len(names)
    with pytest.raises(InputError, match="'x = a'"):
        learn_plan([open_source({"x": ["a", "b"], "x = a": [1.0, 2.0]})])


def test_long_levels_are_cut_in_names_and_not_in_the_plan():
    long = "x" * 100
    column = plan_of([long, "b", long])["x"]
    assert column.levels == (long, "b")
    assert max(map(len, column.features)) < 70
    twins = plan_of([long + "1", long + "2"])["x"]
    assert len(set(twins.features)) == 2


# Missing values ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "gap", [None, "", "  ", "NA", "n/a", "NaN", "?", "null", ".", "-"], ids=lambda gap: repr(gap)
)
def test_blank_and_missing_words_are_missing(gap):
    column, rows = encoded(["4", gap, "6"])
    assert (column.kind, column.indicator) == ("number", True)
    np.testing.assert_array_equal(rows, [[4, 0], [5, 1], [6, 0]])


def test_gaps_get_the_mean_of_the_sets_means_and_an_indicator():
    a, b = {"x": [1.0, 3.0, None], "t": ["u", "u", "v"]}, {"x": [10.0], "t": [None]}
    first, second = encode([open_source(a, name="a"), open_source(b, name="b")])
    assert first.feature_names == ("x", "t = u", "t = v", "x is missing", "t is missing")
    third = 1 / 3
    np.testing.assert_array_equal(
        first.read().rows, [[1, 1, 0, 0, 0], [3, 1, 0, 0, 0], [6, 0, 1, 1, 0]]
    )
    np.testing.assert_allclose(second.read().rows, [[10, 2 * third, third, 0, 1]], rtol=1e-15)


# What is left out ----------------------------------------------------------------------------


def left_out(columns):
    with pytest.warns(CospanWarning, match="Left out"):
        return learn_plan(
            [open_source({**columns, "y": np.arange(len(next(iter(columns.values())))) % 3.0})]
        ).left_out


def test_texts_that_hardly_repeat_are_identifiers_or_free_text():
    n = 200
    tickets = [f"T{i * 7919}" for i in range(n)]
    remarks = [f"the guest of room {i} was happy" for i in range(n)]
    assert left_out({"ticket": tickets})["ticket"] == "identifiers: no value repeats"
    assert left_out({"remark": remarks})["remark"] == "free text"
    twice = {"town": tickets[: n // 2] * 2}
    assert learn_plan([open_source(twice)])["town"].other


@pytest.mark.parametrize("told", [{}, {"numeric": ["x"]}])
def test_numbers_with_a_few_odd_texts_are_numbers_and_these_are_missing(told):
    texts = [f"{i / 7:.3f}" for i in range(200)] + ["oops"]
    column, rows = encoded(texts, **told)
    assert column.kind == "number"
    np.testing.assert_array_equal(np.flatnonzero(rows[:, 1]), [200])
    assert encoded(["1", "2", "3", "4+"] * 30)[0].kind == "category"


def test_whole_numbers_called_like_identifiers_are_left_out_only_if_they_hardly_repeat():
    n = 100
    shuffled = np.random.default_rng(0).permutation(n) * 17
    for name in ("id", "customerID", "Unnamed: 0", "row_id"):
        assert name in left_out({name: np.arange(n)})
        assert name in left_out({name: shuffled})
        assert name in left_out({name: [str(i) for i in shuffled]})
        kept = learn_plan([open_source({name: np.arange(n) // 5 % 7})])
        assert kept[name].kind == "number"


def test_numbers_that_never_repeat_under_a_name_that_may_be_an_identifiers():
    draw = np.random.default_rng(0)
    numbers = 51_624 + draw.permutation(4000)[:400]
    for name in ("seqn", "patid", "case no"):
        assert name in left_out({name: numbers})
        assert learn_plan([open_source({name: numbers // 3})])[name].kind == "number"
        wide = draw.choice(10**7, 400, replace=False)  # none of these would repeat anyway
        assert learn_plan([open_source({name: wide})])[name].kind == "number"
    assert learn_plan([open_source({"income": numbers})])["income"].kind == "number"


def test_rare_levels_are_chosen_whichever_set_they_are_in():
    """60 levels of one row each: those of the smaller set have the larger shares of it."""
    rare = [f"t{i:02d}" for i in range(60)]
    a, b = rare[1::2][:28], sorted({*rare} - {*rare[1::2][:28]})
    sources = [open_source({"town": ["x"] * 40 + part}) for part in (a, b)]
    assert sorted(learn_plan(sources)["town"].levels) == [*rare[:29], "x"]
    # But a level that is much of a small set is chosen, however rare it is in a large one.
    many = [f"m{i}" for i in range(40) for _ in range(50)]
    plan = learn_plan(
        [open_source({"town": ["new"] * 12 + ["m1"] * 8}), open_source({"town": many})]
    )
    assert "new" in plan["town"].levels


def test_names_of_identifiers():
    yes = ("id", "ID", "userId", "user_id", "PassengerId", "index", "Unnamed: 0", "", "rownames")
    no = ("idle", "humidity", "0", "12", "keyboard", "valid", "grid", "identity crisis")
    table = {name: np.arange(10) for name in (*yes, *no)}
    plan = encode([open_source(table)])[0].plan
    assert set(plan.left_out) == set(yes)


def test_asked_for_is_taken():
    table = {"id": np.arange(20), "name": [f"n{i}" for i in range(20)]}
    plan = learn_plan([open_source(table, numeric=["id"], categorical=["name"])])
    assert [column.kind for column in plan.columns] == ["number", "category"]
    assert learn_plan([open_source(table, columns=["id"])])["id"].kind == "number"


# Options -------------------------------------------------------------------------------------


def test_signs_are_never_mixed():
    euros, dollars = [f"€{i}.5" for i in range(40)], [f"${i}.5" for i in range(40)]
    for sets in ((euros, dollars), (euros[:20] + dollars[20:],) * 2):
        plan = encode([open_source({"x": each, "y": range(40)}) for each in sets])[0].plan
        assert plan["x"].kind == "left out"
    assert plan_of(euros, [i + 0.5 for i in range(40)])["x"].reading == "point €"


def test_asked_for_as_numbers_and_none_is_said():
    source = open_source({"x": ["5 kg", "6 kg"], "y": [1, 2]}, numeric=["x"])
    assert encode([source])[0].plan["x"].reason == "it holds no numbers"


def test_forced_kinds_and_dropped_columns():
    table = {"zone": [1, 2, 2, None], "price": ["10", "n.a.", "12", "about 9"], "z": [1, 2, 3, 4]}
    source = opened(table, categorical=["zone"], numeric="price", drop=["z"])
    assert source.feature_names == (
        "zone = 2", "zone = 1", "price", "zone is missing", "price is missing",
    )  # fmt: skip
    np.testing.assert_array_equal(source.read().rows[:, 2], [10, 11, 12, 11])
    np.testing.assert_array_equal(source.read().rows[:, 4], [0, 1, 0, 1])
    assert source.plan.left_out == {"z": "as asked"}


# The plan itself -----------------------------------------------------------------------------


def a_plan():
    table = {
        "n": [1.5, None, 2.5], "t": ["a", "b", None], "d": ["2020-01-01"] * 3, "b": ["no"] * 3,
        "v": [1.0, 2.0, None], "k": [None] * 3,
    }  # fmt: skip
    with pytest.warns(CospanWarning, match="'k'"):
        return learn_plan([open_source(table)])


def test_a_plan_survives_json():
    plan = a_plan()
    again = EncodingPlan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again == plan
    assert again.feature_names == plan.feature_names


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.pop("columns"),
        lambda d: d["columns"][0].update(kind="fruit"),
        lambda d: d["columns"][0].update(name=3),
        lambda d: d["columns"][0].update(fill=[1.0, 2.0]),
        lambda d: d["columns"][0].update(fill=["x"]),
        lambda d: d["columns"][1].update(levels=[1, 2]),
        lambda d: d["columns"][0].update(indicator="yes"),
        lambda d: d["columns"].append(7),
        lambda d: d["columns"][0].update(fill=[math.inf]),
    ],
)
def test_a_damaged_plan_is_refused_in_one_sentence(damage):
    content = a_plan().to_dict()
    damage(content)
    with pytest.raises(InputError, match="not an encoding plan, or it is damaged") as caught:
        EncodingPlan.from_dict(content)
    assert "\n" not in str(caught.value)


def test_how_rows_are_cut_into_blocks_does_not_matter():
    rng = np.random.default_rng(7)
    n = 500
    table = pd.DataFrame(
        {
            "n": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 50, n)),
            "t": rng.choice(["a", "b", "c", None], n),
            "d": [f"2020-01-{d:02}" for d in rng.integers(1, 29, n)],
            "many": [f"level {i}" for i in rng.integers(0, 200, n)],
            "id": np.arange(n),
        }
    )
    whole, cut = (encode([open_source(table, chunk_rows=k)])[0] for k in (n, 70))
    assert cut.plan == whole.plan
    np.testing.assert_array_equal(cut.read().rows, whole.read().rows)
    for one, other in zip(*(source.profiles[0].values() for source in (whole, cut)), strict=True):
        assert (one.rows, one.missing, one.levels) == (other.rows, other.missing, other.levels)
        np.testing.assert_array_equal([one.low, one.high], [other.low, other.high])


def test_how_identifiers_and_free_text_are_written_is_watched_beside_the_rows():
    rng = np.random.default_rng(0)
    refs = [f"AB-{n:06d}" for n in rng.permutation(10**6)[:60]]
    texts = [f"Ünder {a} no {b} times!" for a, b in rng.integers(0, 99, (60, 2))]
    frame = pd.DataFrame({"x": rng.normal(size=60), "ref": refs, "said": texts})
    frame.loc[3, "ref"] = None
    source = encode([open_source(frame)])[0]
    parts = ("length", "digits", "letters", "capitals", "blanks", "other characters")
    assert source.plan.watched == tuple((c, part) for c in ("ref", "said") for part in parts)
    assert source.plan.feature_names == ("x",)
    watched = source.read().watched
    assert np.isnan(watched[3, :6]).all()
    assert watched[0, :6].tolist() == [9, 6, 2, 2, 0, 1]
    text = texts[0]
    assert watched[0, 6:].tolist() == [
        len(text), sum(map(str.isdigit, text)), sum(map(str.isalpha, text)), 1, 4, 1
    ]  # fmt: skip
    assert EncodingPlan.from_dict(source.plan.to_dict()).watched == source.plan.watched


def test_numbers_that_are_categories_are_written_as_people_write_them():
    codes = np.tile([1.0, 0.5, 123456789012.0, np.nan], 25)
    (plan,) = [opened(pd.DataFrame({"code": codes}), categorical=["code"]).plan]
    assert set(plan["code"].levels) == {"1", "0.5", "123456789012"}
