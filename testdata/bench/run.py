"""Measures gander against its controls, side by side.

    run.py [--mb 600] [--rounds 5] [--fleet] [--large] [--largest]

Builds gander and gander-synth, writes the inputs once (build/bench/inputs), and
runs gander and the controls in turn, so that what else the machine does falls
on all alike. Prints medians and ratios; every single run is in
build/bench/results.json. --fleet adds 1,000 homes of 1 MB against one of 1 GB,
--large a database ten times as large, --largest a message of 100 MB.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "bench"
BIN, INPUTS, OUT = BUILD / "bin", BUILD / "inputs", BUILD / "out"


def sh(*args: str) -> str:
    return subprocess.run(args, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def measured(args: list[str]) -> tuple[float, float, str]:
    """Runs a command; returns seconds, peak resident MiB and its stdout."""
    answer = BUILD / "stdout"
    with open(answer, "w+b") as out:
        start = time.perf_counter()
        # Not subprocess: a process of its own tells its own peak to wait4.
        pid = os.posix_spawn(args[0], args, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)])
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
    if code := os.waitstatus_to_exitcode(status):
        sys.exit(f"{' '.join(args)}: exit {code}")
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, usage.ru_maxrss * unit / 2**20, answer.read_text()


def fleet(name: str, *flags: str) -> tuple[Path, dict]:
    """Writes an input, unless one of the same synth and flags is there."""
    folder, facts = INPUTS / name, INPUTS / f"{name}.json"
    maker = sh("sha256sum", str(BIN / "gander-synth")).split()[0]
    if facts.exists() and (known := json.loads(facts.read_text()))["flags"] == list(flags) and known["synth"] == maker:
        return folder, known
    shutil.rmtree(folder, ignore_errors=True)
    print(f"writing {name}: {' '.join(flags)}", file=sys.stderr)
    known = {"flags": list(flags), "synth": maker, **json.loads(sh(str(BIN / "gander-synth"), "-o", str(folder), *flags))}
    facts.write_text(json.dumps(known, indent=2))
    return folder, known


def parsed(text: str) -> datetime.datetime:
    # Python reads at most six digits of a second.
    head, _, fraction = text.rstrip("Z").partition(".")
    return datetime.datetime.fromisoformat(f"{head}.{(fraction or '0')[:6]:0<6}+00:00")


def gander(homes: Path, events: int | None) -> list[dict]:
    seconds, peak, text = measured([str(BIN / "gander"), "run", str(homes), "-o", str(OUT), "--json"])
    summary = json.loads(text)
    rows = summary["rows"]
    if events is not None and rows["events"] < events:
        sys.exit(f"gander wrote {rows['events']} events, the messages have {events} blocks")
    parquet = (parsed(summary["finished_at"]) - parsed(summary["started_at"])).total_seconds()
    total = sum(rows.values())
    return [
        {"what": "gander_parquet", "seconds": parquet, "rows": total},
        {"what": "gander", "seconds": seconds, "peak_mib": peak, "rows": total},
    ]


def control(name: str, homes: Path, events: int) -> list[dict]:
    seconds, peak, text = measured([sys.executable, str(HERE / f"control_{name}.py"), str(homes), str(OUT)])
    found = json.loads(text)["events"]
    if found != events:
        sys.exit(f"control {name} found {found} blocks of {events}")
    return [{"what": f"control_{name}", "seconds": seconds, "peak_mib": peak, "rows": found}]


def clear() -> None:
    """Removes what a run left, and waits until that no longer slows the next."""
    if not OUT.exists():
        return
    shutil.rmtree(OUT)
    os.sync()
    # ext4 without a journal does not use an inode again for five seconds: who
    # makes thousands of files meanwhile pays for the search for others.
    time.sleep(6)


def rounds(n: int, title: str, runs: list) -> dict[str, dict]:
    """Runs all in turn, n times; returns the medians."""
    every: list[dict] = []
    for i in range(n):
        for run in runs:
            clear()
            every += (done := run())
            print(f"{title} {i + 1}/{n}: " + ", ".join(f"{d['what']} {d['seconds']:.2f} s" for d in done), file=sys.stderr)
    clear()
    medians = {}
    for what in dict.fromkeys(e["what"] for e in every):
        mine = [e for e in every if e["what"] == what]
        medians[what] = {
            "seconds": statistics.median(e["seconds"] for e in mine),
            "all_seconds": [round(e["seconds"], 3) for e in mine],
            "rows": mine[0]["rows"],
            **({"peak_mib": max(e["peak_mib"] for e in mine)} if "peak_mib" in mine[0] else {}),
        }
    return medians


def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument("--mb", type=int, default=600)
    args.add_argument("--rounds", type=int, default=5)
    for flag in ("fleet", "large", "largest"):
        args.add_argument(f"--{flag}", action="store_true")
    o = args.parse_args()

    for folder in (BIN, INPUTS):
        folder.mkdir(parents=True, exist_ok=True)
    for program in ("gander", "gander-synth"):
        sh("go", "build", "-o", str(BIN / program), f"./cmd/{program}")

    import duckdb
    import pyarrow

    results = {
        "at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": sh("git", "rev-parse", "--short", "HEAD") + ("+" if sh("git", "status", "--porcelain") else ""),
        "machine": {
            "cpus": os.cpu_count(), "cpu": cpu(), "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "os": platform.platform(), "load": os.getloadavg(),
        },
        "versions": {"go": sh("go", "env", "GOVERSION"), "python": platform.python_version(), "duckdb": duckdb.__version__, "pyarrow": pyarrow.__version__},
        "inputs": {}, "medians": {}, "ratios": {},
    }
    try:
        compare(o, results)
    finally:  # what was measured before something failed counts too
        (BUILD / "results.json").write_text(json.dumps(results, indent=2) + "\n")
        report(results)


def compare(o: argparse.Namespace, results: dict) -> None:
    """Measures what o asks for, into results."""
    ratios = results["ratios"]

    def measure(name: str, controls: str, *flags: str) -> dict[str, dict]:
        homes, facts = fleet(name, *flags)
        results["inputs"][name] = facts
        blocks = facts["blocks"]
        runs = [lambda: gander(homes, blocks)] + [lambda c=c: control(c, homes, blocks) for c in controls]
        got = results["medians"][name] = rounds(o.rounds, name, runs)
        for m in got.values():
            m["mb_per_second"] = facts["database_bytes"] / 1e6 / m["seconds"]
            m["rows_per_second"] = m["rows"] / m["seconds"]
        return got

    def ratio(name: str, value: float, target: str, ok: bool) -> None:
        ratios[name] = {"value": round(value, 3), "target": target, "reached": ok}

    main_input = f"{o.mb}mb"
    base = measure(main_input, "abc", "--mb", str(o.mb))
    t = {what: m["seconds"] for what, m in base.items()}
    ratio("parquet / (a)", x := t["gander_parquet"] / t["control_a"], "<= 1", x <= 1)
    ratio("(b) / parquet", x := t["control_b"] / t["gander_parquet"], ">= 2", x >= 2)
    ratio("(c) / parquet", x := t["control_c"] / t["gander_parquet"], ">= 5", x >= 5)
    ratio("whole / (a)", x := t["gander"] / t["control_a"], "<= 2", x <= 2)
    ratio("peak MiB", x := base["gander"]["peak_mib"], "< 512", x < 512)
    if o.large:
        large = measure(f"{10 * o.mb}mb", "", "--mb", str(10 * o.mb))
        ratio("peak, 10 x / 1 x", x := large["gander"]["peak_mib"] / base["gander"]["peak_mib"], "<= 1.1", x <= 1.1)
        ratio("MB/s, 10 x / 1 x", x := large["gander"]["mb_per_second"] / base["gander"]["mb_per_second"], ">= 0.9", x >= 0.9)
    if o.largest:
        largest = measure(f"{o.mb}mb-and-100", "", "--mb", str(o.mb), "--largest", "100")
        extra = largest["gander"]["peak_mib"] - base["gander"]["peak_mib"]
        ratio("peak a message of 100 MB adds / its size", x := extra * 2**20 / 100e6, "a few", x <= 5)
    if o.fleet:
        many = measure("1000x1mb", "", "--homes", "1000", "--mb", "1")
        one = measure("1x1000mb", "", "--mb", "1000")
        ratio("1,000 homes of 1 MB / 1 of 1 GB", x := many["gander"]["seconds"] / one["gander"]["seconds"], "<= 1.5", x <= 1.5)


def cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def report(results: dict) -> None:
    m = results["machine"]
    print(f"{m['cpus']} x {m['cpu']}, {m['memory_gib']} GiB, {m['os']}; {results['versions']}; commit {results['commit']}")
    print(f"{'input':<16}{'what':<18}{'median s':>10}{'MB/s':>9}{'rows/s':>11}{'peak MiB':>10}  all")
    for name, medians in results["medians"].items():
        for what, r in medians.items():
            peak = f"{r['peak_mib']:.0f}" if "peak_mib" in r else ""
            print(f"{name:<16}{what:<18}{r['seconds']:>10.2f}{r['mb_per_second']:>9.1f}{r['rows_per_second']:>11.0f}{peak:>10}  {r['all_seconds']}")
    for name, r in results["ratios"].items():
        print(f"{name:<42}{r['value']:>9.2f}  {r['target']:<8}{'' if r['reached'] else 'not reached'}")


main()
