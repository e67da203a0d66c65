#!/bin/sh
# Answers for small files on a far host, one after the other, for as long as the connection lasts: a look into /proc
# costs a few milliseconds here, and a whole login, with all that its scripts do, over a session of its own.
#
#   sh door.sh SILENCE
#
# A request is one line, BYTES PATH. The answer is those first bytes of the file in hexadecimal, over several lines,
# then "= CODE", 0 when the file could be read. The first line is "door open"; what login scripts print comes before.
# An empty line is a sign of life. After SILENCE seconds without any line the cable counts as cut, and the connection
# is ended here too, which would else last for hours.

silence=$1
printf '\ndoor open\n'
exec 3>&1 2>/dev/null
trap '' USR1
(
    quiet=0
    trap 'quiet=0' USR1
    while [ "$quiet" -lt "$silence" ]; do
        sleep 1
        quiet=$((quiet + 1))
    done
    kill -TERM "$PPID"
    kill -KILL 0
) </dev/null >/dev/null 3>&- &
counter=$!
while read -r bytes path; do
    kill -USR1 "$counter"
    if [ -n "$bytes" ]; then
        code=$({ { head -c "$bytes" "$path"; echo "$?" >&4; } | od -An -v -tx1 >&3; } 4>&1)
        echo "= $code"
    fi
done
kill -KILL 0
