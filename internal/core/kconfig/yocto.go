package kconfig

import "strings"

// A Yocto layer: the fragment, a description that the kernel tools of linux-yocto read,
// and an append to its recipe.

const (
	yoctoDir  = "recipes-kernel/linux/"
	yoctoLine = "kernel-module-"
)

func yoctoFiles(fragment string) []File {
	return []File{
		{yoctoDir + "files/" + fragmentFile, fragment},
		{yoctoDir + "files/congctl.scc", yoctoFeature},
		{yoctoDir + "linux-yocto_%.bbappend", yoctoAppend},
		{"conf/layer.conf", yoctoLayer},
	}
}

const yoctoFeature = `# SPDX-License-Identifier: Apache-2.0
define KFEATURE_DESCRIPTION "BBR, fq and what congctl needs"
define KFEATURE_COMPATIBILITY all

kconf non-hardware congctl.cfg
`

const yoctoAppend = `# linux-yocto and its kin (recipes that inherit kernel-yocto) read the .scc. For another
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
`

const yoctoLayer = `BBPATH .= ":${LAYERDIR}"
BBFILES += "${LAYERDIR}/recipes-*/*/*.bb ${LAYERDIR}/recipes-*/*/*.bbappend"

BBFILE_COLLECTIONS += "congctl"
BBFILE_PATTERN_congctl = "^${LAYERDIR}/"
BBFILE_PRIORITY_congctl = "6"

LAYERDEPENDS_congctl = "core"
LAYERSERIES_COMPAT_congctl = "kirkstone scarthgap styhead walnascar whinlatter wrynose"

`

func yoctoSteps(d *Document, list []Feature) []Step {
	steps := []Step{
		{"Add the layer: the folder that has conf and recipes-kernel.", []string{"bitbake-layers add-layer ../meta-congctl"}},
		{"Configure only, and ask the kernel tools what they left out.", []string{
			"bitbake virtual/kernel -c kernel_configme -f",
			"bitbake virtual/kernel -c kernel_configcheck -f"}},
		{"Look at what came out: a recipe that does not inherit kernel-yocto takes none of it.", []string{
			`B=$(bitbake -e virtual/kernel | sed -n 's/^B="\(.*\)"$/\1/p')`,
			`congctl host kernel check --config "$B/.config" --against ../meta-congctl/` + d.Files[0].Path}},
	}
	if !d.Builtin {
		steps = append(steps, Step{"An image has only the modules that are asked for. In local.conf:", []string{
			`MACHINE_EXTRA_RRECOMMENDS += "` + packages(list) + `"`}})
	}
	return append(steps,
		Step{"Build kernel and image, and boot the device.", []string{"bitbake virtual/kernel core-image-minimal"}},
		Step{"On the device.", []string{"congctl host kernel check --running", "congctl host enable bbr"}})
}

func packages(list []Feature) string {
	var out []string
	for _, m := range modulesOf(list) {
		out = append(out, yoctoLine+strings.ReplaceAll(m, "_", "-"))
	}
	return strings.Join(out, " ")
}
