#!/bin/sh
# Runs one command on a leash: when this script's standard input ends (its owner died, was killed, let go),
# the command is ended too: SIGTERM, SIGTERM again after a second, SIGKILL after GRACE seconds.
#
#   sh leash.sh GRACE COMMAND [ARGUMENT...]
#
# The first line of output is "leash PID", the command's own process id; all that follows is the command's.
# Exit status: the command's.
# SIGPIPE is ignored and stays so in the command: ggml-rpc-server dies of it when a client vanishes.
# Where setpriv exists (Linux), the command also dies when this script itself is killed.

trap '' PIPE
grace=$1
shift
# The pid is told by the process that then becomes the command: nothing the command prints can come before it,
# and whoever has read it knows that the death signal below is set.
set -- sh -c 'echo "leash $$"; exec "$@"' leash "$@"
if setpriv --pdeathsig KILL true 2>/dev/null; then
    set -- setpriv --pdeathsig KILL "$@"
fi

exec 3<&0 </dev/null
"$@" 3<&- &
child=$!
exec >/dev/null 2>&1 # this shell says "Terminated" of a command that was: not the command's output

nap() { sleep 0.1 2>/dev/null || sleep 1; }

(
    while read -r _; do :; done <&3
    kill -TERM "$child"
    tenths=0
    while [ "$tenths" -lt "$((grace * 10))" ]; do
        nap
        kill -0 "$child" || exit
        tenths=$((tenths + 1))
        if [ "$tenths" -eq 10 ]; then kill -TERM "$child"; fi
    done
    kill -KILL "$child"
) &
watch=$!
exec 3<&-

wait "$child"
code=$?
kill "$watch" 2>/dev/null
exit "$code"
