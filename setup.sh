#!/bin/sh
# Sets up everything that this repository needs and runs one of its commands:
#
#     sh setup.sh study | test | check | benchmark | venv [further arguments]
#
# The Makefile calls it; where there is no make, call it directly.

set -eu
unset CDPATH
cd -- "$(dirname -- "$0")"

# Before 3.13 Python does not start in an environment whose path is not ASCII under LC_ALL=C.
# Under LANG=C it takes C.UTF-8 by itself; this does the same for LC_ALL.
case ${LC_ALL:-} in
C | POSIX) export LC_ALL=C.UTF-8 ;;
esac

# Standard output belongs to the command (the study page), so all talk goes to standard error.
say() { printf 'setup: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 2
}

# Package managers print pages of success; only their failures are worth reading.
quietly() {
    if output=$("$@" 2>&1 </dev/null); then
        return 0
    fi
    printf '%s\n' "$output" >&2
    return 1
}

is_root() { [ "$(id -u)" -eq 0 ]; }
has() { command -v "$1" >/dev/null 2>&1; }

# ---------------------------------------------------------------- Python

# Prints the version of a Python that is new enough. -I and -S keep a broken site or PYTHONPATH out.
python_version() {
    "$1" -I -S -c 'import sys
if sys.version_info < (3, 11):
    sys.exit(1)
print(sys.implementation.name + "-%d.%d.%d" % sys.version_info[:3])' 2>/dev/null
}

# A version manager's shim can be on PATH and still run nothing: each candidate is tried, not just found.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        if python_version "$PYTHON" >/dev/null; then
            printf '%s\n' "$PYTHON"
            return 0
        fi
        say "PYTHON=$PYTHON is not a Python 3.11 or later; looking at the others"
    fi
    for candidate in python3 python3.11 python3.12 python3.13 python3.14; do
        if python_version "$candidate" >/dev/null; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# ---------------------------------------------------------------- system packages

# DPkg::Lock::Timeout waits for a running installation, but not for a running 'apt-get update'
# (the daily one of a machine that was just booted): that refusal is read from the message.
apt_get() {
    tries=0
    while [ "$tries" -lt 40 ]; do
        if output=$(DEBIAN_FRONTEND=noninteractive LC_ALL=C \
            apt-get -qq -o DPkg::Lock::Timeout=120 "$@" 2>&1 </dev/null); then
            return 0
        fi
        case $output in
        *"Could not get lock /var/lib/apt/"* | *"Could not get lock /var/cache/apt/"*)
            [ "$tries" -gt 0 ] || say "waiting for another apt-get to end (two minutes at most)"
            sleep 3
            ;;
        *"dpkg was interrupted"*)
            # As apt-get asks for when an earlier set-up was killed. Packages whose dependencies
            # were still to come make it fail, and apt-get then goes on all the same.
            [ "$tries" -eq 0 ] || break
            DEBIAN_FRONTEND=noninteractive dpkg --configure -a >/dev/null 2>&1 </dev/null || :
            ;;
        *) break ;;
        esac
        tries=$((tries + 1))
    done
    printf '%s\n' "$output" >&2
    return 1
}

# An installation that was killed leaves an M2 on PATH that lacks its libraries.
is_half_installed() {
    is_root && has dpkg-query || return 1
    # shellcheck disable=SC2016 # a field of dpkg's, not a variable
    case $(dpkg-query -W -f '${db:Status-Status}' macaulay2 2>/dev/null) in
    half-* | unpacked) ;;
    *) return 1 ;;
    esac
}

# Whether 'm2bridge doctor --install' has made a copy; the environment, where there is one, knows where that is.
has_installed_copy() {
    [ -x .venv/bin/python ] && .venv/bin/python -c 'import sys
from m2bridge.install import installed_executable
sys.exit(installed_executable() is None)' >/dev/null 2>&1
}

require_macaulay2() {
    if [ -n "${M2BRIDGE_M2:-}" ] || { has M2 && ! is_half_installed; } || has_installed_copy; then
        return 0
    fi
    if [ "$(uname -s)" = Darwin ]; then
        die "Macaulay2 is missing: install it with 'brew install macaulay2/tap/M2' and run this again."
    elif ! has apt-get; then
        die "Macaulay2 is missing: install it (Fedora: 'sudo dnf install Macaulay2'; Arch: 'macaulay2' from the AUR; anywhere, without root: 'make venv', then '.venv/bin/m2bridge doctor --install') or set M2BRIDGE_M2 to its executable, and run this again."
    elif ! is_root; then
        die "Macaulay2 is missing: run 'sudo apt-get install macaulay2' (Ubuntu has it in universe), or, with no root at all, run 'make venv', then '.venv/bin/m2bridge doctor --install', and run this again."
    fi
    packages="$packages macaulay2"
}

# Debian splits ensurepip off its own Python; 'import venv' alone would succeed there.
require_venv_module() {
    if "$python" -I -c 'import ensurepip, venv' >/dev/null 2>&1; then
        return 0
    fi
    package=python$("$python" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv
    if ! has apt-get; then
        die "$python cannot make virtual environments (it has no ensurepip): install that part of it, or set PYTHON to another Python 3.11 or later."
    elif ! is_root; then
        die "$python cannot make virtual environments: run 'sudo apt-get install $package', or set PYTHON to another Python 3.11 or later."
    fi
    packages="$packages $package"
}

install_packages() {
    [ -n "$packages" ] || return 0
    say "installing$packages with apt-get (a minute or two)"
    # One unreachable third-party source fails the update, but need not fail the installation.
    apt_get update || say "apt-get update failed; trying with the package lists there are"
    # A mirror that cannot be reached is a mere warning of the update, yet the reason of the failure that follows.
    warnings=$output
    # shellcheck disable=SC2086 # a list of names
    if ! apt_get install -y --no-install-recommends $packages; then
        [ -z "$warnings" ] || printf '%s\n' "$warnings" >&2
        die "apt-get could not install$packages: its message is above (Ubuntu has macaulay2 in universe: 'add-apt-repository universe')."
    fi
    case $packages in
    *macaulay2*) has M2 || die "apt-get installed macaulay2, but there is no M2 on PATH ($PATH)." ;;
    esac
}

# ---------------------------------------------------------------- the virtual environment

# What the environment depends on. Its place is part of it, since the editable installation
# and the scripts hold absolute paths; so is its Python, which a system upgrade may replace.
fingerprint() {
    printf '%s %s %s\n' "$(cksum <pyproject.toml)" "$1" "$(pwd -P)"
}

# A PYTHON that cannot be used was already passed over when .venv was made, so it asks for nothing here.
is_wanted() {
    [ -z "${PYTHON:-}" ] || ! wanted=$(python_version "$PYTHON") || [ "$wanted" = "$1" ]
}

is_ready() {
    [ -f ".venv/.setup-$1" ] && [ ! -e .venv/.setup-unfinished ] || return 1
    version=$(python_version .venv/bin/python) || return 1
    [ "$(fingerprint "$version")" = "$(cat ".venv/.setup-$1")" ] && is_wanted "$version"
}

# Whether the packages in there can be kept when pyproject.toml changed or the development
# packages are added, or when somebody made the environment by hand.
is_usable() {
    [ ! -e .venv/.setup-unfinished ] || return 1
    version=$(python_version .venv/bin/python) || return 1
    .venv/bin/python -I -m pip --version >/dev/null 2>&1 || return 1
    is_wanted "$version" || return 1
    for stamp in .venv/.setup-base .venv/.setup-dev; do
        [ -f "$stamp" ] || continue
        case $(cat "$stamp") in
        *" $version $(pwd -P)") ;;
        *) return 1 ;;
        esac
    done
}

# Removes what is certainly an environment, and nothing else that somebody may have called .venv.
remove_environment() {
    if [ -L .venv ] || rmdir .venv 2>/dev/null; then
        rm -f .venv
        return 0
    elif [ ! -e .venv/pyvenv.cfg ] && [ ! -e .venv/.setup-unfinished ]; then
        die ".venv is here but is not a virtual environment: move it away and run this again."
    fi
    say "making .venv anew: it was left unfinished or was moved, or its Python is gone, broken or not the one asked for"
    # The mark goes last: were this removal cut short, what it left must not look like somebody else's.
    : >.venv/.setup-unfinished
    find .venv -mindepth 1 -maxdepth 1 ! -name .setup-unfinished -exec rm -rf {} +
    rm -rf .venv
}

make_environment() {
    if { [ -e .venv ] || [ -L .venv ]; } && ! is_usable; then
        remove_environment
    fi
    if [ -d .venv ]; then
        : >.venv/.setup-unfinished
        rm -f .venv/.setup-base .venv/.setup-dev
    else
        say "making .venv with $python ($(python_version "$python"))"
        mkdir .venv
        : >.venv/.setup-unfinished
        quietly "$python" -m venv .venv || die "$python could not make the virtual environment .venv."
    fi
}

# pip as a module: a script's first line cannot name an interpreter in a path with blanks.
pip_install() {
    quietly .venv/bin/python -m pip --disable-pip-version-check --no-input install --quiet --prefer-binary "$@" ||
        die "pip could not install what the project needs: its message is above; then run this again."
}

install_project() {
    make_environment
    if [ "$1" = dev ]; then
        say "installing m2bridge and its development packages into .venv"
        pip_install --upgrade 'pip>=25.1' # the first with --group
        pip_install --editable . --group dev
    else
        say "installing m2bridge into .venv"
        pip_install --editable .
    fi
    version=$(python_version .venv/bin/python) || die ".venv/bin/python does not run."
    key=$(fingerprint "$version")
    printf '%s\n' "$key" >.venv/.setup-base
    [ "$1" != dev ] || printf '%s\n' "$key" >.venv/.setup-dev
    # Only now is the environment trusted: a set-up that was killed before this line is made anew.
    rm -f .venv/.setup-unfinished
}

# ---------------------------------------------------------------- commands

# All that can be refused is refused here, before anything slow.
prepare() { # base|dev [macaulay2 [others]]
    packages=
    ready=no
    if is_ready "$1"; then
        ready=yes
    else
        python=$(find_python) ||
            die "Python 3.11 or later is missing: install it (Debian and Ubuntu: 'apt-get install python3 python3-venv') or set PYTHON to its executable, and run this again."
        require_venv_module
    fi
    if [ "${2:-}" = macaulay2 ]; then
        require_macaulay2
    fi
    # The second system of some tests, and the cluster of others. Where they cannot be installed by us, those are skipped.
    if [ "${3:-}" = others ] && has apt-get && is_root; then
        has Singular || packages="$packages singular-ui"
        { has sbatch && has slurmctld && has munged; } || packages="$packages slurm-wlm munge"
    fi
    install_packages
    if [ "$ready" = no ]; then
        # The lock is on this script, so that it needs no file of its own. It also waits for a
        # pip that outlived its killed set-up. Where there is no flock (macOS), two set-ups
        # at once are the user's to avoid.
        if has flock; then
            exec 9<setup.sh
            flock -n 9 || {
                say "waiting for another set-up of this checkout to end"
                flock 9
            }
        fi
        is_ready "$1" || install_project "$1"
        exec 9<&-
    fi
}

command=${1:-}
[ "$#" -eq 0 ] || shift
case $command in
study)
    prepare base macaulay2
    exec .venv/bin/python -m m2bridge study lightning --d 2 --d-out 2 --a 2 --t 2 "$@"
    ;;
test)
    prepare dev macaulay2 others
    .venv/bin/python -m ruff check .
    .venv/bin/python -m ruff format --check .
    .venv/bin/python -m mypy
    required=--require-macaulay2
    ! has Singular || required="$required --require-singular"
    # Only root can start a cluster.
    ! is_root || ! has slurmctld || required="$required --require-slurm"
    # shellcheck disable=SC2086 # a list of options
    exec .venv/bin/python -m pytest -n 2 $required "$@"
    ;;
check)
    prepare dev
    .venv/bin/python -m ruff check .
    .venv/bin/python -m ruff format --check .
    exec .venv/bin/python -m mypy
    ;;
benchmark)
    prepare base macaulay2
    exec .venv/bin/python benchmarks/engines.py "$@"
    ;;
venv)
    prepare base
    ;;
*)
    die "usage: sh setup.sh study|test|check|benchmark|venv [further arguments]"
    ;;
esac
