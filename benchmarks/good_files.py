"""A good file or folder of every kind that cospan reads, small, for scripts that damage them."""

import bz2
import gzip
import struct

import numpy as np

ROWS = np.random.default_rng(0).normal(size=(40, 3))
LABELS = np.arange(40) % 2
NAMES = ("alpha", "bravo", "charlie", "kind")
CLASSES = np.where(LABELS, "cat", "dog")


def as_text(separator):
    rows = zip(*ROWS.T.tolist(), CLASSES, strict=True)
    lines = [separator.join(map(str, row)) for row in rows]
    return "\n".join([separator.join(NAMES), *lines]).encode()


def arrow_table():
    import pyarrow as pa

    dates = np.datetime64("2020-01-01", "s") + np.arange(40).astype("m8[D]")
    columns = {"alpha": ROWS[:, 0], "bravo": ROWS[:, 1], "when": dates}
    texts = pa.array(list(CLASSES))
    return pa.table({**columns, "kind": texts, "coded": texts.dictionary_encode()})


def parquet(path):
    import pyarrow.parquet as pq

    pq.write_table(arrow_table(), path)


def arrow(path):
    from pyarrow import feather

    feather.write_feather(arrow_table(), str(path), compression="uncompressed")


def arrow_stream(path):
    import pyarrow as pa

    with pa.ipc.new_stream(str(path), arrow_table().schema) as writer:
        writer.write_table(arrow_table())


def parts(path):
    import pyarrow.parquet as pq

    path.mkdir()
    for number in range(3):
        pq.write_table(arrow_table()[10 * number : 10 * number + 10], path / f"{number}.parquet")


def images(path):
    from PIL import Image

    path.mkdir()
    rng = np.random.default_rng(0)
    for number, ending in enumerate(("png", "jpg", "gif", "bmp", "tiff", "webp", "ppm")):
        pixels = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path / f"{number}.{ending}")


def model(path):
    from cospan import JointFrame, save

    save(path, JointFrame.fit(ROWS, ROWS[::-1] * 2 + 1))


def profile(path):
    from cospan import Profile

    Profile.of(ROWS, every="10-rows").save(path)


IDX = struct.pack(">BBBBIII", 0, 0, 8, 3, 40, 3, 3) + bytes(range(256))[:180] * 2
# Kind: file name, what writes it, the column of the classes.
KINDS = {
    "csv": ("x.csv", lambda path: path.write_bytes(as_text(",")), None),
    "tsv": ("x.tsv", lambda path: path.write_bytes(as_text("\t")), "kind"),
    "gz": ("x.csv.gz", lambda path: path.write_bytes(gzip.compress(as_text(","))), "kind"),
    "bz2": ("x.csv.bz2", lambda path: path.write_bytes(bz2.compress(as_text(";"))), None),
    "parquet": ("x.parquet", parquet, "kind"),
    "parquet folder": ("parts", parts, None),
    "arrow": ("x.arrow", arrow, "kind"),
    "arrow stream": ("x.arrow", arrow_stream, "coded"),
    "npy": ("x.npy", lambda path: np.save(path, ROWS), None),
    "npz": ("x.npz", lambda path: np.savez_compressed(path, x=ROWS, y=LABELS), "y"),
    "idx": ("x-idx3-ubyte", lambda path: path.write_bytes(IDX), None),
    "idx.gz": ("x-idx3-ubyte.gz", lambda path: path.write_bytes(gzip.compress(IDX)), None),
    "images": ("images", images, None),
    "model": ("model.cospan", model, None),
    "profile": ("profile.cospan", profile, None),
}
FOLDERS = ("images", "parquet folder")
# Files whose own metadata say how large they are: these may ask for more memory before a sentence.
CLAIMS = ("parquet", "parquet folder", "arrow", "arrow stream")


def write(kind, folder):
    """The file of a kind, written once in a folder of its own."""
    name, make, _ = KINDS[kind]
    path = folder / kind / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
    return path
