package change

// Value is what a target holds, exactly. The zero Value is a target that does not
// exist. Owner and mode are of files and directories only.
type Value struct {
	Present  bool
	Text     string // whole content, as its kind spells it; any bytes
	Mode     uint32 // permission bits
	UID, GID uint32
}

// Absent is the value of what does not exist.
var Absent = Value{}

// Text is the value of a target that has no owner: a sysctl, a qdisc, a module.
func Text(s string) Value { return Value{Present: true, Text: s} }

// FileText is a file of root's with ordinary permissions, 0644.
func FileText(s string) Value { return Value{Present: true, Text: s, Mode: 0o644} }
