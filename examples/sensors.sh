#!/bin/sh
# Sensors by MQTT: any MQTT client is a client of the overlay; wildcards become topic profiles.
#
#     semcast up examples/up.toml
#     sh examples/sensors.sh 127.0.0.1 7402       # host and port of a gateway
set -eu
host=${1:-127.0.0.1} port=${2:-7402}

mosquitto_sub -V 5 -h "$host" -p "$port" -q 1 -C 2 -v -t 'plant/+/pressure' &
listener=$!
trap 'kill $listener 2>/dev/null || true' EXIT

sleep 2    # until its subscription is live
mosquitto_pub -V 5 -h "$host" -p "$port" -q 1 -t plant/boiler/pressure -m 7.1
mosquitto_pub -V 5 -h "$host" -p "$port" -q 1 -t plant/boiler/temperature -m 480
mosquitto_pub -V 5 -h "$host" -p "$port" -q 1 -t plant/pump/pressure -m 3.4
wait $listener
