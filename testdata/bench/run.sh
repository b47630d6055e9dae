#!/bin/sh
# Measures gander against its controls; see run.py for what can be asked for.
set -eu
cd "$(dirname "$0")/../.."
venv=build/bench/venv
if ! cmp -s testdata/bench/requirements.txt "$venv/requirements.txt"; then
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r testdata/bench/requirements.txt
	cp testdata/bench/requirements.txt "$venv/requirements.txt"
fi
exec "$venv/bin/python" testdata/bench/run.py "$@"
