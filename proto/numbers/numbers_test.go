package numbers

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

var rewrite = flag.Bool("rewrite", false, "append new fields to numbers.txt")

const (
	treeRoot    = "../.."
	protoFolder = "congctl/v1"
	numbersFile = "numbers.txt"
	appendThem  = "append it with `go test ./proto/numbers -rewrite`"
)

// TestNumbersNeverChange compares the contract with all that it ever was: a record written today is read by the congctl of
// another year, on another host. It reads the descriptors out of the generated code, wherever in the tree that is.
func TestNumbersNeverChange(t *testing.T) {
	text, err := os.ReadFile(numbersFile)
	if err != nil {
		t.Fatal(err)
	}
	files := descriptors(t)
	now := parentsOf(files)
	old, faults := parseNumbers(string(text))
	faults = append(append(faults, unmade(t, files)...), changes(old, now)...)
	fresh := added(old, now)
	if *rewrite && len(faults) == 0 {
		if err := os.WriteFile(numbersFile, append(text, linesOf(fresh)...), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, f := range faults {
		t.Error(f)
	}
	for _, n := range fresh {
		t.Errorf("%s: new, and not in numbers.txt: %s", n, appendThem)
	}
}

// number is a line of the file: what a message or an enum gave a number to.
type number struct {
	parent string // without the package
	n      int32
	name   string
	shape  string // a field's label and type; "value" of an enum
}

func (n number) String() string { return fmt.Sprintf("%s %d %s %s", n.parent, n.n, n.name, n.shape) }

func linesOf(all []number) string {
	var b strings.Builder
	for _, n := range all {
		b.WriteString(n.String() + "\n")
	}
	return b.String()
}

// parseNumbers reads the file, in which no number and no name of a parent stands twice.
func parseNumbers(text string) (all []number, faults []string) {
	seen := map[string]int{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		w := strings.SplitN(line, " ", 4)
		n, err := strconv.ParseInt(strings.Join(w[min(1, len(w)):min(2, len(w))], ""), 10, 32)
		if len(w) != 4 || err != nil {
			faults = append(faults, fmt.Sprintf("numbers.txt:%d: %q: want `parent number name shape`", i+1, line))
			continue
		}
		for _, key := range []string{w[0] + " " + w[1], w[0] + "." + w[2]} {
			if first := seen[key]; first > 0 {
				faults = append(faults, fmt.Sprintf("numbers.txt:%d: %q: %s stands in line %d already: lines are appended, never changed", i+1, line, key, first))
			}
			seen[key] = i + 1
		}
		all = append(all, number{w[0], int32(n), w[2], w[3]})
	}
	return all, faults
}

// parent is a message or an enum as it is now.
type parent struct {
	has      []number
	reserved func(n int32) bool
	names    []string // reserved
}

// changes says what of the file is no longer so, and what to do.
func changes(old []number, now map[string]parent) (faults []string) {
	told := map[string]bool{}
	for _, was := range old {
		p, ok := now[was.parent]
		if !ok {
			if !told[was.parent] {
				faults = append(faults, fmt.Sprintf("%s: gone: keep it, its fields reserved, so that the name is not used again", was.parent))
			}
			told[was.parent] = true
			continue
		}
		if f := changeOf(was, p); f != "" {
			faults = append(faults, fmt.Sprintf("%s %s = %d: %s", was.parent, was.name, was.n, f))
		}
	}
	return faults
}

func changeOf(was number, p parent) string {
	byNumber := slices.IndexFunc(p.has, func(n number) bool { return n.n == was.n })
	byName := slices.IndexFunc(p.has, func(n number) bool { return n.name == was.name })
	switch {
	case byNumber >= 0 && byNumber == byName:
		if is := p.has[byNumber]; is.shape != was.shape {
			return fmt.Sprintf("was shipped as %q, is now %q: give it back its type, and a new field another name and number", was.shape, is.shape)
		}
	case byName >= 0:
		return fmt.Sprintf("has the number %d now: give it back %d", p.has[byName].n, was.n)
	case byNumber >= 0:
		return fmt.Sprintf("the number belongs to %s now: a new name is a new field: take the next free number, and give %s back or reserve it", p.has[byNumber].name, was.name)
	default:
		var lacks []string
		if !p.reserved(was.n) {
			lacks = append(lacks, fmt.Sprintf("`reserved %d;`", was.n))
		}
		if !slices.Contains(p.names, was.name) {
			lacks = append(lacks, fmt.Sprintf("`reserved %q;`", was.name))
		}
		if len(lacks) > 0 {
			return "removed: write " + strings.Join(lacks, " and ") + " in its place"
		}
	}
	return ""
}

// added are the fields whose number and name the file does not have, by parent and number.
func added(old []number, now map[string]parent) (fresh []number) {
	known := map[string]bool{}
	for _, n := range old {
		known[fmt.Sprint(n.parent, " ", n.n)], known[n.parent+"."+n.name] = true, true
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		for _, n := range slices.SortedFunc(slices.Values(now[name].has), func(a, b number) int { return cmp.Compare(a.n, b.n) }) {
			if !known[fmt.Sprint(n.parent, " ", n.n)] && !known[n.parent+"."+n.name] {
				fresh = append(fresh, n)
			}
		}
	}
	return fresh
}

func parentsOf(files []*descriptorpb.FileDescriptorProto) map[string]parent {
	all := map[string]parent{}
	for _, f := range files {
		for _, e := range f.EnumType {
			all[e.GetName()] = enum(e.GetName(), e)
		}
		for _, m := range f.MessageType {
			addMessage(all, "."+f.GetPackage()+".", m.GetName(), m)
		}
	}
	return all
}

func addMessage(all map[string]parent, pkg, name string, m *descriptorpb.DescriptorProto) {
	p := parent{names: m.ReservedName, reserved: func(n int32) bool {
		return slices.ContainsFunc(m.ReservedRange, func(r *descriptorpb.DescriptorProto_ReservedRange) bool { return r.GetStart() <= n && n < r.GetEnd() })
	}}
	for _, f := range m.Field {
		p.has = append(p.has, number{name, f.GetNumber(), f.GetName(), shape(pkg, f)})
	}
	all[name] = p
	for _, e := range m.EnumType {
		all[name+"."+e.GetName()] = enum(name+"."+e.GetName(), e)
	}
	for _, sub := range m.NestedType {
		addMessage(all, pkg, name+"."+sub.GetName(), sub)
	}
}

func shape(pkg string, f *descriptorpb.FieldDescriptorProto) string {
	s := strings.ToLower(strings.TrimPrefix(f.GetType().String(), "TYPE_"))
	if f.TypeName != nil {
		s = strings.TrimPrefix(f.GetTypeName(), pkg)
	}
	switch {
	case f.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REPEATED:
		return "repeated " + s
	case f.GetProto3Optional():
		return "optional " + s
	case f.OneofIndex != nil:
		return "oneof " + s
	}
	return s
}

func enum(name string, e *descriptorpb.EnumDescriptorProto) parent {
	p := parent{names: e.ReservedName, reserved: func(n int32) bool {
		return slices.ContainsFunc(e.ReservedRange, func(r *descriptorpb.EnumDescriptorProto_EnumReservedRange) bool {
			return r.GetStart() <= n && n <= r.GetEnd()
		})
	}}
	for _, v := range e.Value {
		p.has = append(p.has, number{name, v.GetNumber(), v.GetName(), "value"})
	}
	return p
}

// descriptors reads those of the contract out of every generated file of the tree.
func descriptors(t *testing.T) (files []*descriptorpb.FileDescriptorProto) {
	t.Helper()
	err := filepath.WalkDir(treeRoot+"/internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".pb.go") {
			return err
		}
		raw, err := rawDescriptor(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		var f descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal([]byte(raw), &f); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if filepath.Dir(f.GetName()) == protoFolder {
			files = append(files, &f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// rawDescriptor is the value of the constant file_..._rawDesc: a sum of texts.
func rawDescriptor(path string) (raw string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasSuffix(spec.Names[0].Name, "_rawDesc") {
			return true
		}
		ast.Inspect(spec.Values[0], func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok {
				var s string
				s, err = strconv.Unquote(lit.Value)
				raw += s
			}
			return err == nil
		})
		return false
	})
	if raw == "" && err == nil {
		err = errors.New("find descriptor: no constant ends in _rawDesc")
	}
	return raw, err
}

// unmade names each .proto of the contract without generated code.
func unmade(t *testing.T, files []*descriptorpb.FileDescriptorProto) (faults []string) {
	t.Helper()
	protos, err := filepath.Glob(treeRoot + "/proto/" + protoFolder + "/*.proto")
	if err != nil || len(protos) == 0 {
		t.Fatalf("%v, %v", protos, err)
	}
	for _, p := range protos {
		name := protoFolder + "/" + filepath.Base(p)
		if !slices.ContainsFunc(files, func(f *descriptorpb.FileDescriptorProto) bool { return f.GetName() == name }) {
			faults = append(faults, "proto/"+name+": no generated code of it in the tree: name it in proto/generate.sh and run `make generate`")
		}
	}
	return faults
}
