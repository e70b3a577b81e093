#!/bin/bash
# Write binder/requirements.txt anew: what pyproject.toml asks for, as repo2docker's own
# environment allows it.
#   uv run binder/lock.sh [output file] [Python version]
#   uv run binder/lock.sh --base [Python version]     print what the image holds before our pins
#
# The image starts from repo2docker's conda environment, which already holds JupyterLab and its
# parts. Their versions are taken as they are: nothing is installed twice and `pip check` holds.
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:-binder/requirements.txt}
version=${2:-$(sed 's/^python-//' binder/runtime.txt)}
base=$(mktemp)
trap 'rm -f "$base"' EXIT

python - "$version" > "$base" <<'PYTHON'
import pathlib, re, sys
import repo2docker
conda = pathlib.Path(repo2docker.__file__).parent / "buildpacks" / "conda"
lock = (conda / f"environment.py-{sys.argv[1]}-linux-64.lock").read_text()
for name, version in re.findall(r"/([^/]+)-([^-/]+)-py[^-/]*\.(?:conda|tar\.bz2)", lock):
    print(f"{name}=={version}")
PYTHON

if [[ $output == --base ]]; then
    cat "$base"
    exit
fi

# From the standard input (-): notebook, so that the classic interface of the base fits the pins;
# hatchling and editables, so that postBuild builds the package without asking an index.
# --no-config: uv.lock is held to versions that the base of the image does not have.
printf 'notebook\nhatchling\neditables\n' | uv pip compile --no-config --quiet --no-header --no-annotate \
    --extra voila --extra control --constraint "$base" --upgrade \
    --python-version "$version" --python-platform x86_64-unknown-linux-gnu \
    --output-file "$output" pyproject.toml -
