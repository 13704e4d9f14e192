#!/bin/sh
# Makes the user of congctl-controller.service, and nothing else: nothing starts.
set -e
! command -v systemd-sysusers >/dev/null || systemd-sysusers congctl.conf
