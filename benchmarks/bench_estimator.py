"""The estimator on MNIST: ten classes on all 60,000 rows, and two classes against the frame.

    COSPAN_DATA=/path/to/data python benchmarks/bench_estimator.py

Ten classes: fit time, time to predict 10,000 images, and test accuracy, beside scikit-learn's
LogisticRegression (pixels divided by 255; stopped after 50 iterations of lbfgs to keep this short,
its warning about that kept quiet) and its QuadraticDiscriminantAnalysis (reg_param 0.1, since the
covariances of images are singular).
Two classes: accuracy through the estimator and through the frame. Without COSPAN_DATA the images
are downloaded.
"""

import time
import warnings

import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from cospan import AlignmentAngleClassifier, JointFrame
from cospan.errors import CospanError
from pictures import load_images

PAIRS = ((0, 7), (1, 5), (3, 5), (3, 9), (4, 9))


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start


def ten_classes(images):
    models = {
        "AlignmentAngleClassifier": (AlignmentAngleClassifier(), 1.0),
        "  0.1's: span='linear'": (AlignmentAngleClassifier(span="linear"), 1.0),
        "LogisticRegression, 50 iterations": (LogisticRegression(max_iter=50), 255.0),
        "QDA, reg_param=0.1": (QuadraticDiscriminantAnalysis(reg_param=0.1), 255.0),
    }
    print(f"{images.title}, ten classes, {len(images.train_y):,} training images")
    print(f"  {'model':<36}{'fit s':>8}{'predict s':>11}{'accuracy':>10}")
    for name, (model, scale) in models.items():
        X, Z = images.train_x / scale, images.test_x / scale
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, fitting = timed(model.fit, X, images.train_y)
        found, predicting = timed(model.predict, Z)
        accuracy = np.mean(found == images.test_y)
        print(f"  {name:<36}{fitting:8.1f}{predicting:11.2f}{accuracy:10.4f}")
        if isinstance(model, AlignmentAngleClassifier) and model.span == "affine":
            print(f"    shrinkage {model.shrinkage_:g}; at least 0.958: {accuracy >= 0.958}")


def two_classes(images):
    print(f"\n{images.title}, pairs of 900 and 800 training images, all test images")
    print(f"  {'pair':<8}{'estimator':>10}{'frame':>10}")
    for first, second in PAIRS:
        rows, labels = [], []
        for digit, n in ((first, 900), (second, 800)):
            rng = np.random.default_rng([0, digit])
            index = rng.choice(np.flatnonzero(images.train_y == digit), n, replace=False)
            rows.append(images.train_x[index].astype(float))
            labels.append(np.full(n, digit))
        test = np.isin(images.test_y, (first, second))
        Z, truth = images.test_x[test].astype(float), images.test_y[test]
        frame = JointFrame.fit(*rows)
        by_frame = np.mean(np.array([first, second])[frame.align(Z).predict()] == truth)
        model = AlignmentAngleClassifier().fit(np.vstack(rows), np.concatenate(labels))
        print(f"  {first}, {second:<5}{model.score(Z, truth):10.4f}{by_frame:10.4f}")


if __name__ == "__main__":
    try:
        images = load_images("mnist")
    except CospanError as error:
        print(f"Not run: {error}")
    else:
        ten_classes(images)
        two_classes(images)
