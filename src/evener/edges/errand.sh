#!/bin/sh
# Runs one command on a far host to its end; its whole process group ends with it, with its owner, or at its deadline.
# Evaluated there as text that comes over ssh, so that no file is left behind.
#
#   sh errand.sh MARK DEADLINE INPUT COMMAND [ARGUMENT...]
#
# INPUT bytes of standard input are the command's. The end of standard input after them, or before, means that the
# owner is gone. A cut cable tells nobody, hence DEADLINE, in seconds.
# A line MARK goes before the command's output and errors: what login scripts print comes before it. The last line is
# MARK and the exit code, or "none" when there is no such program.

mark=$1 deadline=$2 input=$3
shift 3
printf '\n%s\n' "$mark"
printf '\n%s\n' "$mark" >&2
if ! command -v "$1" >/dev/null; then
    printf '\n%s none\n' "$mark"
    exit
fi
exec 3<&0 4>&2 </dev/null 2>/dev/null # what this shell itself says of a killed command is not the command's
(
    sleep "$deadline"
    kill -KILL 0
) 3<&- 4>&- >/dev/null &
{
    head -c "$input" <&3
    exec >/dev/null
    while read -r _; do :; done <&3
    kill -KILL 0
} 4>&- | {
    "$@" 2>&4 3<&- 4>&-
    printf '\n%s %s\n' "$mark" "$?"
    kill -KILL 0
}
