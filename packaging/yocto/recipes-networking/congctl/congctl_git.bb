SUMMARY = "Moves client networks that the default congestion control fails to a better one"
HOMEPAGE = "https://github.com/congctl/congctl"
LICENSE = "Apache-2.0"
LIC_FILES_CHKSUM = "file://${COMMON_LICENSE_DIR}/Apache-2.0;md5=89aea4e17d99a7cacdbeed46a0096b10"

GO_IMPORT = "github.com/congctl/congctl"
SRC_URI = "git://${GO_IMPORT};protocol=https;branch=main;destsuffix=${GO_SRCURI_DESTSUFFIX}"
SRCREV ?= "${AUTOREV}"
# Before Styhead no class sets it.
GO_SRCURI_DESTSUFFIX ?= "${@os.path.join(os.path.basename(d.getVar('S')), 'src', d.getVar('GO_IMPORT'))}"
PV = "0.0+git"

inherit go-mod systemd

# Go's modules come from the network in do_compile. A build without: put `go mod vendor` into
# the source, and -mod=vendor here.
do_compile[network] = "1"
GO_INSTALL = "${GO_IMPORT}/cmd/congctl"
# The build without laboratory, Kafka, ClickHouse and controller. For all of it: CONGCTL_TAGS = ""
CONGCTL_TAGS ?= "small"
GOBUILDFLAGS:append = " -tags '${CONGCTL_TAGS}'"
# Static, as all builds of congctl. Without cgo Go refuses the class's -linkshared, and -buildmode=pie on arm and riscv64.
CGO_ENABLED = "0"
GO_LINKSHARED = ""
GOBUILDFLAGS:remove = "-buildmode=pie"

do_install:append() {
	install -d ${D}${sysconfdir}/congctl ${D}${systemd_system_unitdir}
	install -m 0644 ${S}/src/${GO_IMPORT}/etc/congctl.yml ${D}${sysconfdir}/congctl/
	for unit in congctl congctl-agent; do
		sed 's,/usr/local/bin/,${bindir}/,' ${S}/src/${GO_IMPORT}/etc/$unit.service >${D}${systemd_system_unitdir}/$unit.service
	done
}

# Nothing starts unless the image says so: SYSTEMD_AUTO_ENABLE:${PN} = "enable"
SYSTEMD_SERVICE:${PN} = "congctl.service"
SYSTEMD_AUTO_ENABLE:${PN} ?= "disable"
FILES:${PN} += "${systemd_system_unitdir}/congctl-agent.service"
CONFFILES:${PN} = "${sysconfdir}/congctl/congctl.yml"
RRECOMMENDS:${PN} = "kernel-module-tcp-bbr"
INSANE_SKIP:${PN} += "already-stripped"
