# For the examples' run.sh: $dir is a folder for files, which goes with the script, and
# $PROGRAM is a Go program with C (brew). Needs clew in PATH, Go and a C compiler.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${PROGRAM:-}" ]; then
  PROGRAM=$dir/brew
  (cd ../brew && go build -o "$PROGRAM" .)
fi
