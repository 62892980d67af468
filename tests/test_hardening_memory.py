"""A small file cannot make a large process: what it claims is weighed before it is believed.

Each case runs in a process of its own whose peak memory is measured; what is allowed is 1 GB,
most of which Python and its libraries leave unused.
"""

import gzip
import json
import struct
import zipfile
import zlib

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from cospan.sources import open_source
from cospan.sources.budget import check_block, check_features, check_stream, expands_to

from cospan.errors import CospanError, SourceError
from peak_memory import assert_takes_little, needs_proc

pytestmark = needs_proc


def long_list_parquet(tmp):
    """25 million zeros in one cell; run lengths make some hundred bytes of them."""
    values = pa.array(np.zeros(25_000_000))
    lists = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    pq.write_table(pa.table({"x": lists}), tmp / "x.parquet", compression="zstd")
    return tmp / "x.parquet"


def many_long_lists_parquet(tmp):
    """Lists of a million zeros, in 64 cells."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(2**22, np.int8)), 2**20)
    table = pa.table({"x": pa.chunked_array([lists] * 16)})
    pq.write_table(table, tmp / "x.parquet", compression="zstd")
    return tmp / "x.parquet"


def long_header_npy(tmp):
    """A header of three gigabytes, it says."""
    (tmp / "x.npy").write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", 3 * 2**30) + b"{" * 100)
    return tmp / "x.npy"


def wide_bytes_npz(tmp, order="C"):
    """Bytes that become eight times as many as numbers, a thousand times smaller in the file."""
    np.savez_compressed(tmp / "x.npz", x=np.zeros((2, 2**28), np.uint8, order=order))
    return tmp / "x.npz"


def long_names_npz(tmp):
    """Labels of one letter, each with room for a million."""
    labels = np.zeros((3, 2**26), np.uint8).view("S67108864").ravel()
    np.savez_compressed(tmp / "x.npz", x=np.ones((3, 2)), y=labels.astype("S67108864"))
    return tmp / "x.npz", "y"


def packed_npz(tmp, kind=zipfile.ZIP_BZIP2):
    """bzip2 makes a gigabyte of a kilobyte, at once; this one makes 128 MB."""
    with (
        zipfile.ZipFile(tmp / "x.npz", "w", kind) as archive,
        archive.open("x.npy", "w", force_zip64=True) as stream,
    ):
        header = {"descr": "<f8", "fortran_order": False, "shape": (2**23, 2)}
        np.lib.format.write_array_header_1_0(stream, header)
        for _ in range(8):
            stream.write(bytes(2**24))
    return tmp / "x.npz"


def version_2(tmp, compressor, chunks=(4, 2)):
    store = tmp / "x.zarr"
    store.mkdir()
    described = {"zarr_format": 2, "shape": [4, 2], "chunks": chunks, "dtype": "<f8"}
    described |= {"compressor": compressor, "filters": None, "fill_value": 0, "order": "C"}
    (store / ".zarray").write_text(json.dumps(described))
    return store


def gzip_chunk_zarr(tmp, codec="gzip"):
    """A chunk of eight numbers that expands to a gigabyte."""
    store = version_2(tmp, {"id": codec, "level": 1})
    packer = zlib.compressobj(1, zlib.DEFLATED, 31 if codec == "gzip" else 15)
    parts = [packer.compress(bytes(2**24)) for _ in range(60)]
    (store / "0.0").write_bytes(b"".join(parts) + packer.flush())
    return store


def large_chunk_zarr(tmp):
    """One chunk that is mostly beyond the end of the array."""
    store = version_2(tmp, None, (2**27, 2))
    (store / "0.0").write_bytes(bytes(64))
    return store


def endless_zarr(tmp):
    """Chunks that are not there read as zeros, as many as the metadata claim."""
    zarr.create_array(tmp / "x.zarr", shape=(10**12, 2), chunks=(1000, 2), dtype="f8")
    return tmp / "x.zarr"


def endless_hdf5(tmp):
    with h5py.File(tmp / "x.h5", "w") as file:
        file.create_dataset("x", shape=(10**12, 2), dtype="f8", chunks=(1000, 2))
    return tmp / "x.h5"


def large_chunk_hdf5(tmp):
    with h5py.File(tmp / "x.h5", "w") as file:
        file.create_dataset(
            "x", (4, 4), "f8", chunks=(2**25, 4), maxshape=(None, 4), compression="gzip"
        )
    return tmp / "x.h5"


def gzip_chunk_hdf5(tmp):
    """A chunk that expands beyond what the dataset says of it."""
    packer = zlib.compressobj(1)
    data = b"".join(packer.compress(bytes(2**24)) for _ in range(60)) + packer.flush()
    with h5py.File(tmp / "x.h5", "w") as file:
        # smaller chunks could not take so many bytes in the format of older libraries
        made = file.create_dataset("x", (512, 512), "f8", chunks=(512, 512), compression="gzip")
        made.id.write_direct_chunk((0, 0), data)
    return tmp / "x.h5"


def packed_arrow(tmp, codec="zstd", open_writer=pa.ipc.new_file):
    """Buffers that say in front how much they expand to, and do."""
    table = pa.table({"x": np.zeros(2**26), "y": np.zeros(2**26)})
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with open_writer(str(tmp / "x.arrow"), table.schema, options=options) as writer:
        writer.write_table(table)
    return tmp / "x.arrow"


def packed_words_arrow(tmp):
    """The same in a dictionary."""
    words = pa.array(["a" * 2**29, "b"]).dictionary_encode()
    table = pa.table({"x": [1.0, 2.0], "y": words})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(str(tmp / "x.arrow"), table.schema, options=options) as writer:
        writer.write_table(table)
    return tmp / "x.arrow"


def long_labels_idx(tmp):
    images = struct.pack(">BBBBIII", 0, 0, 8, 3, 4, 2, 2) + bytes(16)
    (tmp / "images-idx3-ubyte").write_bytes(images)
    labels = struct.pack(">BBBBI", 0, 0, 8, 1, 2**30) + bytes(2**26)
    (tmp / "labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    return tmp / "images-idx3-ubyte", str(tmp / "labels-idx1-ubyte.gz")


def wide_image(tmp):
    """As many pixels as an image may have, in three colours and sixteen bits."""
    (tmp / "images").mkdir()

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 8192, 8000, 16, 6, 0, 0, 0)
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(1 + 8192 * 8) * 100) for _ in range(80)) + packer.flush()
    content = chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    for name in ("a.png", "b.png"):
        (tmp / "images" / name).write_bytes(b"\x89PNG\r\n\x1a\n" + content)
    return tmp / "images"


CASES = [
    long_list_parquet,
    many_long_lists_parquet,
    long_header_npy,
    wide_bytes_npz,
    long_names_npz,
    packed_npz,
    gzip_chunk_zarr,
    large_chunk_zarr,
    endless_zarr,
    endless_hdf5,
    large_chunk_hdf5,
    gzip_chunk_hdf5,
    packed_arrow,
    packed_words_arrow,
    long_labels_idx,
    wide_image,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_small_files_take_little_memory_and_little_time(case, tmp_path):
    given = case(tmp_path)
    assert_takes_little(*(given if isinstance(given, tuple) else (given,)))


def test_other_packings_of_the_same_bombs(tmp_path):
    for number, make in enumerate(
        (
            lambda folder: wide_bytes_npz(folder, "F"),
            lambda folder: packed_npz(folder, zipfile.ZIP_LZMA),
            lambda folder: gzip_chunk_zarr(folder, "zlib"),
            lambda folder: packed_arrow(folder, "lz4"),
            lambda folder: packed_arrow(folder, "zstd", pa.ipc.new_stream),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = make(folder)
        with pytest.raises(SourceError):
            open_source(str(path))


@pytest.mark.parametrize("codec", ["blosc", "lz4", "zstd", "bz2", "lzma"])
def test_what_a_zarr_chunk_claims_is_read_from_its_front(codec, tmp_path):
    """Four gigabytes, in a chunk of a few bytes."""
    claimed = {
        "blosc": bytes([2, 1, 0x21, 8]) + struct.pack("<III", 2**32 - 1, 2**18, 200),
        "lz4": struct.pack("<I", 2**31 - 1),
        "zstd": b"\x28\xb5\x2f\xfd" + bytes([0xC0, 0x58]) + struct.pack("<Q", 2**32),
        "bz2": expanded("bz2"),
        "lzma": expanded("lzma"),
    }[codec]
    store = version_2(tmp_path, {"id": codec})
    (store / "0.0").write_bytes(claimed + bytes(64))
    with pytest.raises(SourceError, match="decompression bomb"):
        open_source(str(store))


def expanded(codec):
    import bz2
    import lzma

    packer = bz2.BZ2Compressor(9) if codec == "bz2" else lzma.LZMACompressor(preset=0)
    parts = [packer.compress(bytes(2**24)) for _ in range(20)]
    return b"".join(parts) + packer.flush()


def test_a_bomb_inside_a_shard_is_found(tmp_path):
    store = tmp_path / "x.zarr"
    array = zarr.create_array(store, shape=(4, 2), chunks=(2, 2), shards=(4, 2), dtype="f8")
    array[:] = np.arange(8.0).reshape(4, 2)
    assert open_source(str(store)).read().rows[3, 1] == 7.0
    (shard,) = (store / "c").rglob("0/0")
    data = shard.read_bytes()
    offset, length = struct.unpack_from("<QQ", data, len(data) - 36)
    forged = b"\x28\xb5\x2f\xfd" + bytes([0xC0, 0x58]) + struct.pack("<Q", 2**32)
    forged += bytes(max(0, length - len(forged)))
    shard.write_bytes(data[:offset] + forged[:length] + data[offset + length :])
    with pytest.raises(SourceError, match="decompression bomb"):
        open_source(str(store))


def test_expansion_is_counted_without_keeping_anything():
    data = gzip.compress(bytes(5_000_000))
    assert expands_to(data, "gzip", 10_000_000) == 5_000_000
    assert 1_000_000 < expands_to(data, "gzip", 1_000_000) < 3_000_000
    assert expands_to(b"no gzip at all", "gzip", 1000) == 0


def test_honest_data_pass():
    check_block("x", 2**34, 2**31)
    check_block("x", 2**28, 1)
    check_stream("x", 2**40, 2**31)
    check_features("x", 5_000_000, 5_000_000)
    with pytest.raises(CospanError):
        check_features("x", 5_000_000, 1_000_000)


# ---- data that lie elsewhere -------------------------------------------------------------------


def test_hdf5_reads_no_other_file(tmp_path):
    """External storage and virtual datasets would read whatever the file names."""
    secret = np.arange(8.0).reshape(4, 2)
    secret.tofile(tmp_path / "secret.bin")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = secret
    with h5py.File(tmp_path / "external.h5", "w") as file:
        source = [(str(tmp_path / "secret.bin"), 0, 64)]
        file.create_dataset("x", shape=(4, 2), dtype="f8", external=source)
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout((4, 2), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", shape=(4, 2))
        file.create_virtual_dataset("x", layout)
    with h5py.File(tmp_path / "linked.h5", "w") as file:
        file["x"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")
    for name in ("external.h5", "virtual.h5"):
        with pytest.raises(SourceError, match="lie in other files"):
            open_source(str(tmp_path / name))
    with pytest.raises(SourceError):
        open_source(str(tmp_path / "linked.h5::x"))
    with h5py.File(tmp_path / "labelled.h5", "w") as file:
        file["x"] = secret
        file.create_dataset(
            "y", shape=(4,), dtype="f8", external=[(str(tmp_path / "secret.bin"), 0, 32)]
        )
    with pytest.raises(SourceError, match="lie in other files"):
        open_source(str(tmp_path / "labelled.h5::x"), label="y")


@pytest.mark.parametrize("codec", ["zstd", "lz4", None])
@pytest.mark.parametrize("open_writer", [pa.ipc.new_file, pa.ipc.new_stream])
def test_honest_arrow_files_pass(codec, open_writer, tmp_path):
    rows = np.random.default_rng(0).integers(0, 9, (5000, 2)).astype(float)
    words = pa.array(["even", "odd"] * 2500).dictionary_encode()
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1], "w": words})
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with open_writer(str(tmp_path / "x.arrow"), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=700)
    found = open_source(str(tmp_path / "x.arrow"), columns=["x", "y"]).read()
    np.testing.assert_array_equal(found.rows, rows)
