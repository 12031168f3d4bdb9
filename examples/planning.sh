#!/bin/sh
# Planning a real topology offline: which channels and trees would the overlay have, and what would they save?
# Needs TopoHub's collection: pip install 'semcast[topohub]'. All it makes goes into a folder, build/planning by default.
set -eu
out=${1:-build/planning}

semcast demo --messages 5000 --profiles 500 --seconds 0 --out "$out"    # a stream, and profiles to plan for
semcast topology --kind topohub:topozoo/Abilene --gateways 0.8 --out "$out/abilene.json"
source=$(sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' "$out/abilene.json" | head -n 1)
semcast plan --profiles "$out/profiles.jsonl" --draw-gateways --messages "$out/quotes.parquet" \
    --topology "$out/abilene.json" --source "$source" --out "$out/plan.json"
# The plan says what it costs, beside a shortest-path tree, copies, and the least that is possible:
python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["cost"]))' "$out/plan.json"
