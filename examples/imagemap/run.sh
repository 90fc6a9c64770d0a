# Command imagemap captures the image map of its own process and looks up where a
set -eu
cd "$(dirname "$0")"
go run .
