"""
What distinguishes two wines
============================

Two cultivars from the same region, 13 measurements of each bottle. Which measurements tell them
apart, and where would a third wine stand?
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from cospan import compare, plots

table = load_wine(as_frame=True).frame
barolo, grignolino, barbera = (
    table[table.target == cultivar].drop(columns="target") for cultivar in range(3)
)
found = compare(barolo, grignolino, barbera, name_a="Barolo", name_b="Grignolino")
print(found.verdict)

# %%
# Every bottle has an angle: 0° is Barolo, 90° Grignolino. The bottles of Barbera were never shown
# to the frame; most look like Grignolino, if they must look like one of the two.

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
plots.plot_angles(found, ax=ax)
plt.show()

# %%
# The columns, those that changed most first.

print(found.features.to_frame("pandas").head(6).to_string())
