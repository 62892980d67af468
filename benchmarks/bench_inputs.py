"""What people hand in by mistake: every input ends in a result or in one sentence.

    python benchmarks/bench_inputs.py bad 100           some of 900 bad inputs on the command line
    python benchmarks/bench_inputs.py fuzz 1000 npz     damaged files
    python benchmarks/bench_inputs.py odd 20            valid calls with odd columns
    python benchmarks/bench_inputs.py schema            columns dropped, added, renamed, retyped
    python benchmarks/bench_inputs.py                   all four in full, half an hour

Each part has a file of its own, which says what it does and which arguments it takes.
"""

import sys

import inputs_bad
import inputs_fuzz
import inputs_odd
import inputs_schema

PARTS = {
    "bad": inputs_bad.main,
    "fuzz": inputs_fuzz.main,
    "odd": inputs_odd.main,
    "schema": inputs_schema.main,
}


def main():
    part, *arguments = sys.argv[1:] or [""]
    if part not in ("", *PARTS):
        sys.exit(f"{part} is not a part; there are {', '.join(PARTS)}.")
    wrong = [name for name in ([part] if part else PARTS) if PARTS[name](arguments)]
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
