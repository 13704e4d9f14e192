package vm

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Each module names those that it needs in its .modinfo section, as
// "depends=a,b": loading them depth first, each once, is a right order.

// kernelModules maps a module's name to its file, .ko or .ko.xz.
type kernelModules map[string]string

func findModules(dir string) (kernelModules, error) {
	all := kernelModules{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name, isModule := moduleName(path); err == nil && isModule {
			all[name] = path
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no modules in %q", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("find kernel modules: %w", err)
	}
	return all, nil
}

// moduleName: files and dependencies spell the same name with - or with _.
func moduleName(path string) (string, bool) {
	name, isModule := strings.CutSuffix(strings.TrimSuffix(filepath.Base(path), ".xz"), ".ko")
	return strings.ReplaceAll(name, "-", "_"), isModule
}

// read returns a module's bytes as the kernel loads them.
func (all kernelModules) read(name string) (b []byte, err error) {
	path := all[name]
	if strings.HasSuffix(path, ".xz") {
		b, err = exec.Command("xz", "-dc", path).Output()
	} else {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read module %s: %w", path, err)
	}
	return b, nil
}

// signed ends a module with a signature; the signature's length stands before it
// (scripts/sign-file.c).
const signed = "~Module signature appended~\n"

// unsigned takes the signature off: to check it costs the guest more than all the
// rest of loading, and a kernel that does not enforce signatures (a machine without
// secure boot) takes the module without.
func unsigned(module []byte) []byte {
	body, isSigned := bytes.CutSuffix(module, []byte(signed))
	if !isSigned || len(body) < 12 {
		return module
	}
	info := body[len(body)-12:] // struct module_signature: the last word is the length
	n := binary.BigEndian.Uint32(info[8:])
	if uint64(n) > uint64(len(body)-12) {
		return module
	}
	return body[:len(body)-12-int(n)]
}

// order returns the modules to load, needed ones first, and those of want that do not
// exist. needs returns the direct needs of a module.
func (all kernelModules) order(want []string, needs func(name string) ([]string, error)) (order, missing []string, err error) {
	seen := map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		if seen[name] {
			return nil
		}
		seen[name] = true
		direct, err := needs(name)
		if err != nil {
			return err
		}
		for _, need := range direct {
			if all[need] == "" {
				return fmt.Errorf("order modules: %s needs %s, which the kernel package lacks", name, need)
			}
			if err := visit(need); err != nil {
				return err
			}
		}
		order = append(order, name)
		return nil
	}
	for _, name := range want {
		if all[name] == "" {
			missing = append(missing, name)
		} else if err := visit(name); err != nil {
			return nil, nil, err
		}
	}
	return order, missing, nil
}

func (all kernelModules) needs(name string) ([]string, error) {
	b, err := all.read(name)
	if err != nil {
		return nil, err
	}
	direct, err := depends(b)
	if err != nil {
		return nil, fmt.Errorf("read module %s: %w", all[name], err)
	}
	return direct, nil
}

func depends(module []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("no .modinfo section")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	return dependsOf(info), nil
}

// dependsOf reads "key=value" strings, each ended by a zero byte.
func dependsOf(info []byte) []string {
	for field := range strings.SplitSeq(string(info), "\x00") {
		if value, ok := strings.CutPrefix(field, "depends="); ok && value != "" {
			return strings.Split(strings.ReplaceAll(value, "-", "_"), ",")
		}
	}
	return nil
}
