"""What each measure means, and what it sees beside the angle: one line each."""

UNITS = {"own": "each feature in units of its spread", "raw": "features as they came"}

ANGLE = (
    "AUC of leave-one-out angles: 0.5 is chance, 1 is perfect",
    "sees location, scale and relations, says which, and gives every row a probability",
)

ABOUT = {
    "C2ST, logistic": (
        "AUC of logistic regression on held-out rows: 0.5 is chance, 1 is perfect",
        "sees shifts of the means along one line; the angle also sees spreads and relations, and "
        "needs no rows set aside",
    ),
    "C2ST, boosting": (
        "AUC of gradient-boosted trees on held-out rows: 0.5 is chance, 1 is perfect",
        "sees differences of any form, curved ones too, given enough rows; the angle says in "
        "which directions, and gives each row a probability",
    ),
    "proxy A-distance": (
        "2 (1 - 2 error) of logistic regression on held-out rows: 0 is alike, 2 is separable",
        "the same as C2ST on the scale of domain adaptation; the angle adds which rows",
    ),
    "MMD": (
        "squared kernel distance, unbiased: 0 is alike",
        "sees any difference at the scale of the median distance; the angle says what it is",
    ),
    "energy distance": (
        "distance of the distributions in units of the features: 0 is alike",
        "sees any difference, location most of all; weaker than the angle for changed relations",
    ),
    "sliced Wasserstein": (
        "root mean squared transport along random lines: 0 is alike",
        "sees the tails of each line; relations of few features are averaged away",
    ),
    "Fréchet distance": (
        "squared distance of means and covariances, as in FID: 0 is alike",
        "the same two moments as the angle, in absolute units; says nothing of single rows, and "
        "grows with the noise of few rows",
    ),
    "CKA of covariances": (
        "cosine of the two covariances: 1 is the same up to a factor",
        "sees relations alone; blind to means and to scale, which the angle reports as parts",
    ),
    "principal angle": (
        "largest angle between the main subspaces, in degrees: 0 is the same",
        "sees directions that one set lacks; blind to means and to how much variance there is",
    ),
    "largest KS": (
        "largest Kolmogorov-Smirnov distance of a column; p for all columns together",
        "sees any change within one column, as the table of features does; blind to relations",
    ),
}
