#!/bin/sh
# Installs the Debian packages that building and testing edgefx takes, those that are missing only.
set -eu

packages="g++ cmake ninja-build libtorch-dev libfmt-dev libsimdjson-dev zlib1g-dev libgtest-dev libcli11-dev libdnnl-dev"

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
  echo "install_packages.sh: apt-get and dpkg-query not found; this script serves Debian 12 and its relatives." >&2
  echo "Install the counterparts of these packages by hand, then run cmake and ctest: $packages" >&2
  exit 1
fi

missing=""
for package in $packages; do
  case "$(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null || true)" in
    *installed\ *) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "install_packages.sh: neither root nor sudo; ask an administrator to install:$missing" >&2
    exit 1
  fi
  as_root="sudo"
fi

install_missing() {
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
}

echo "installing:$missing"
if ! install_missing; then
  # The package lists of a fresh machine are empty or old.
  $as_root apt-get update
  install_missing
fi
