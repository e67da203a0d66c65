#!/bin/sh
# Runs one command on a leash: when this script's standard input ends (its owner died, was killed, let go),
# the command is ended too: SIGTERM, SIGTERM again after a second, SIGKILL after GRACE seconds.
#
#   sh leash.sh GRACE SILENCE COMMAND [ARGUMENT...]
#
# SILENCE is for an owner at the other end of a cable, 0 for one on this machine. A cut cable ends nothing and says
# nothing, so a far owner sends a line every second, and after SILENCE seconds without one it counts as gone. A far
# owner is told "leash ended CODE" on standard error, which carries nothing else: its own way to learn of the end
# breaks in more ways than this one.
#
# The first line of output is "leash PID", the command's own process id; all that follows is the command's, standard
# error included where the owner is far. Exit status: the command's.
# SIGPIPE is ignored and stays so in the command: ggml-rpc-server dies of it when a client vanishes.
# Where setpriv exists (Linux), the command also dies when this script itself is killed.

trap '' PIPE
grace=$1
silence=$2
shift 2
# The pid is told by the process that then becomes the command: nothing the command prints can come before it,
# and whoever has read it knows that the death signal below is set.
set -- sh -c 'echo "leash $$"; exec "$@"' leash "$@"
if setpriv --pdeathsig KILL true 2>/dev/null; then
    set -- setpriv --pdeathsig KILL "$@"
fi

exec 3<&0 4>/dev/null </dev/null
if [ "$silence" -gt 0 ]; then exec 4>&2 2>&1; fi
"$@" 3<&- 4>&- &
child=$!
exec >/dev/null 2>&1 # this shell says "Terminated" of a command that was: not the command's output

nap() { sleep 0.1 || sleep 1; }

end_child() {
    kill -TERM "$child"
    tenths=0
    while [ "$tenths" -lt "$((grace * 10))" ]; do
        nap
        kill -0 "$child" || exit
        tenths=$((tenths + 1))
        if [ "$tenths" -eq 10 ]; then kill -TERM "$child"; fi
    done
    kill -KILL "$child"
}

# There is no `read` with a deadline in POSIX: one process counts the seconds, and each line that another one reads
# sets it back. A signal that comes before the counter has its trap must not end it, hence ignored until then.
trap '' USR1
if [ "$silence" -gt 0 ]; then
    (
        quiet=0
        trap 'quiet=0' USR1
        while [ "$quiet" -lt "$silence" ]; do
            sleep 1
            quiet=$((quiet + 1))
        done
        kill -TERM "$PPID"
        end_child
    ) 3<&- 4>&- &
    counter=$!
fi
(
    while read -r _; do
        if [ "$silence" -gt 0 ]; then kill -USR1 "$counter"; fi
    done <&3
    end_child
) 4>&- &
line=$!
exec 3<&-

wait "$child"
code=$?
echo "leash ended $code" >&4
kill "$line" ${counter:+"$counter"}
if [ "$silence" -gt 0 ]; then # a session of our own: a nap of the counter ends with it
    trap '' TERM
    kill -TERM 0
fi
exit "$code"
