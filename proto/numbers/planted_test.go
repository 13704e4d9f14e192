package numbers

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

type (
	file    = descriptorpb.FileDescriptorProto
	message = descriptorpb.DescriptorProto
)

// broken are the ways, and the one fault that each must give.
var broken = map[string]struct {
	plant func(*file)
	want  []string // of the one fault; none: no fault
}{
	"number": {func(f *file) { field(messageOf(f, "Conn"), "passive").Number = proto.Int32(4800) },
		[]string{"Conn passive = 16: has the number 4800 now", "give it back 16"}},
	"type": {func(f *file) {
		field(messageOf(f, "Conn"), "crossings").Type = descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum()
	}, []string{`Conn crossings = 27: was shipped as "uint32", is now "int32"`, "another name and number"}},
	"type of a message": {func(f *file) {
		field(messageOf(f, "Conn"), "info").TypeName = proto.String(".congctl.v1.BbrInfo")
	}, []string{`Conn info = 11: was shipped as "TcpInfo", is now "BbrInfo"`}},
	"label": {func(f *file) {
		field(messageOf(f, "Conn"), "cong").Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}, []string{`Conn cong = 13: was shipped as "string", is now "repeated string"`}},
	"presence": {func(f *file) { field(messageOf(f, "Conn"), "cong").Proto3Optional = proto.Bool(true) },
		[]string{`is now "optional string"`}},
	"name": {func(f *file) { field(messageOf(f, "Conn"), "mptcp").Name = proto.String("subflow") },
		[]string{"Conn mptcp = 19: the number belongs to subflow now", "next free number"}},
	"reused number": {func(f *file) {
		remove(messageOf(f, "Conn"), "mptcp")
		messageOf(f, "Conn").Field = append(messageOf(f, "Conn").Field, &descriptorpb.FieldDescriptorProto{Name: proto.String("weight"), Number: proto.Int32(19)})
	}, []string{"Conn mptcp = 19: the number belongs to weight now", "reserve it"}},
	"reused name": {func(f *file) {
		remove(messageOf(f, "Conn"), "mptcp")
		reserve(messageOf(f, "Conn"), 19, "")
		messageOf(f, "Conn").Field = append(messageOf(f, "Conn").Field, &descriptorpb.FieldDescriptorProto{Name: proto.String("mptcp"), Number: proto.Int32(99)})
	}, []string{"Conn mptcp = 19: has the number 99 now"}},
	"removed": {func(f *file) { remove(messageOf(f, "Conn"), "mptcp") },
		[]string{"Conn mptcp = 19: removed", "`reserved 19;`", "`reserved \"mptcp\";`"}},
	"removed, name not reserved": {func(f *file) {
		remove(messageOf(f, "Conn"), "mptcp")
		reserve(messageOf(f, "Conn"), 19, "other")
	}, []string{"removed: write `reserved \"mptcp\";` in"}},
	"removed, number not reserved": {func(f *file) {
		remove(messageOf(f, "Conn"), "mptcp")
		reserve(messageOf(f, "Conn"), 20, "mptcp")
	}, []string{"removed: write `reserved 19;` in"}},
	"removed and reserved": {func(f *file) {
		remove(messageOf(f, "Conn"), "mptcp")
		reserve(messageOf(f, "Conn"), 19, "mptcp")
	}, nil},
	"message": {func(f *file) { messageOf(f, "BbrInfo").Name = proto.String("Bbr") },
		[]string{"BbrInfo: gone: keep it"}},
	"value's number": {func(f *file) { f.EnumType[0].Value[2].Number = proto.Int32(6) },
		[]string{"Arm ARM_CONTROL = 2: has the number 6 now"}},
	"value's name": {func(f *file) { f.EnumType[0].Value[2].Name = proto.String("ARM_DEFAULT") },
		[]string{"Arm ARM_CONTROL = 2: the number belongs to ARM_DEFAULT now"}},
	"value removed": {func(f *file) { f.EnumType[0].Value = f.EnumType[0].Value[:5] },
		[]string{"Arm ARM_UNKNOWN = 5: removed", "`reserved 5;`"}},
	"value removed and reserved": {func(f *file) {
		f.EnumType[0].Value, f.EnumType[0].ReservedName = f.EnumType[0].Value[:5], []string{"ARM_UNKNOWN"}
		f.EnumType[0].ReservedRange = []*descriptorpb.EnumDescriptorProto_EnumReservedRange{{Start: proto.Int32(5), End: proto.Int32(5)}}
	}, nil},
}

// TestNumbersFaultsAreFound plants each way to break the contract in a copy of it.
func TestNumbersFaultsAreFound(t *testing.T) {
	text, err := os.ReadFile(numbersFile)
	if err != nil {
		t.Fatal(err)
	}
	old, faults := parseNumbers(string(text))
	files := descriptors(t)
	if len(faults) != 0 || len(changes(old, parentsOf(files))) != 0 {
		t.Fatalf("planted in what has faults: %q", faults)
	}
	for name, c := range broken {
		t.Run(name, func(t *testing.T) {
			planted := planted(files, c.plant)
			got := changes(old, parentsOf(planted))
			if len(got) != min(len(c.want), 1) {
				t.Fatalf("faults %q", got)
			}
			for _, part := range c.want {
				if !strings.Contains(got[0], part) {
					t.Errorf("%q lacks %q", got[0], part)
				}
			}
		})
	}
}

// TestNumbersAreAdded: a new field, message or file of the package is told until the file has it, and nothing else is.
func TestNumbersAreAdded(t *testing.T) {
	text, err := os.ReadFile(numbersFile)
	if err != nil {
		t.Fatal(err)
	}
	old, _ := parseNumbers(string(text))
	files := planted(descriptors(t), func(f *file) {
		m := messageOf(f, "Batch")
		m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{Name: proto.String("region"), Number: proto.Int32(8), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()})
	})
	files = append(files, &file{Name: proto.String("congctl/v1/other.proto"), Package: proto.String("congctl.v1"),
		MessageType: []*message{{Name: proto.String("Hello"), Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("batch"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: proto.String(".congctl.v1.Batch")},
		}, NestedType: []*message{{Name: proto.String("Part"), Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("n"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_UINT32.Enum()},
		}}}}}})
	now := parentsOf(files)
	fresh := linesOf(added(old, now))
	if want := "Batch 8 region string\nHello 1 batch Batch\nHello.Part 1 n uint32\n"; fresh != want || len(changes(old, now)) != 0 {
		t.Fatalf("added:\n%swant:\n%s%q", fresh, want, changes(old, now))
	}
	grown, faults := parseNumbers(string(text) + fresh)
	if again := added(grown, now); len(again)+len(faults)+len(changes(grown, now)) != 0 {
		t.Errorf("after it was appended: %v %q", again, faults)
	}
	if got := changes(grown, parentsOf(files[:len(files)-1])); len(got) != 2 { // Hello and Hello.Part
		t.Errorf("without the new file: %q", got)
	}
}

// TestNumbersFileIsChecked: whoever changes a line instead of appending one is told.
func TestNumbersFileIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"# a\nA 1 x string\nA 2 y repeated B\n": "",
		"A 1 x string\nA 1 y string\n":          `numbers.txt:2: "A 1 y string": A 1 stands in line 1`,
		"A 1 x string\nA 2 x string\n":          "A.x stands in line 1 already",
		"A one x string\n":                      "want `parent number name shape`",
		"A 1 x\n":                               "want `parent",
		"A\n":                                   "want `parent",
	} {
		_, faults := parseNumbers(text)
		if got := strings.Join(faults, "; "); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// planted is a copy of the files with something done to record.proto.
func planted(files []*file, do func(*file)) (all []*file) {
	for _, f := range files {
		f = proto.CloneOf(f)
		if f.GetName() == protoFolder+"/record.proto" {
			do(f)
		}
		all = append(all, f)
	}
	return all
}

func messageOf(f *file, name string) *message {
	for _, m := range f.MessageType {
		if m.GetName() == name {
			return m
		}
	}
	panic("no message " + name)
}

func field(m *message, name string) *descriptorpb.FieldDescriptorProto {
	for _, f := range m.Field {
		if f.GetName() == name {
			return f
		}
	}
	panic("no field " + name)
}

func remove(m *message, name string) {
	for i, f := range m.Field {
		if f.GetName() == name {
			m.Field = append(m.Field[:i:i], m.Field[i+1:]...)
			return
		}
	}
}

func reserve(m *message, n int32, name string) {
	m.ReservedRange = append(m.ReservedRange, &descriptorpb.DescriptorProto_ReservedRange{Start: proto.Int32(n), End: proto.Int32(n + 1)})
	m.ReservedName = append(m.ReservedName, name)
}
