#!/bin/sh
# Answers for small files on a far host, one after the other, for as long as the connection lasts: a look into /proc
# costs a few milliseconds here, and a whole login, with all that its scripts do, over a session of its own.
#
# A request is one line, BYTES PATH. The answer is those first bytes of the file in hexadecimal, over several lines,
# then "= CODE", 0 when the file could be read. The first line is "door open"; what login scripts print comes before.

printf '\ndoor open\n'
exec 3>&1 2>/dev/null
while read -r bytes path; do
    code=$({ { head -c "$bytes" "$path"; echo "$?" >&4; } | od -An -v -tx1 >&3; } 4>&1)
    echo "= $code"
done
