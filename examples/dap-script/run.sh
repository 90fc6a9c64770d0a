# A program speaks the Debug Adapter Protocol with clew: it stops at a breakpoint and
# asks for the stack with its evidence (clew/stack).
cd "$(dirname "$0")"
. ../common.sh
python3 client.py "$PROGRAM"
