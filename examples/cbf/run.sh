# Command cbf writes a stack in the Compact Backtrace Format and reads it back.
set -eu
cd "$(dirname "$0")"
go run .
