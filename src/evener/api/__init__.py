"""What the faces talk to: one module per subject, each wiring verbs to the real edges. Faces never import a verb.

engines   find, build, check llama.cpp          models    fetch, list, show
rig       Rig: scan, plan, up, down, status     measure   bench, against ours or any URL
runs      run folders and their reports
"""
