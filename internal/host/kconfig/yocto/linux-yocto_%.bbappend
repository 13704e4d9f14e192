# linux-yocto and its kin (recipes that inherit kernel-yocto) read the .scc. For another
# such recipe copy this file under its name. A recipe that only inherits kernel fetches the
# files and ignores them: it needs this as well (before styhead WORKDIR for UNPACKDIR):
#
#   do_configure:append() {
#       ${S}/scripts/kconfig/merge_config.sh -m -O ${B} ${B}/.config ${UNPACKDIR}/congctl.cfg
#       oe_runmake -C ${S} O=${B} olddefconfig
#   }
FILESEXTRAPATHS:prepend := "${THISDIR}/files:"

SRC_URI += "file://congctl.scc \
            file://congctl.cfg \
           "
