package cubiclt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/privilege"
)

// Name of the congestion control. The kernel lets a struct_ops program have letters, digits, _ and . in it, and no dash.
const Name = "cubic_lt"

// cubicBytes is the size of CUBIC's state, struct bictcp, before ours: LT_CUBIC_BYTES in c/cubic_lt.h.
const cubicBytes = 60

// registered is cubic_lt in a kernel.
type registered struct {
	objs *ebpf.Collection
	link link.Link
}

// Available reports whether this kernel has cubic_lt already: built in, or registered by another process or a pin.
func Available() (bool, error) { return has(Name) }

// Fits reports whether this kernel can have cubic_lt, by its version and types; why says what it lacks. It needs no privilege, so
// that all who ask on a host hear the same.
func Fits() (ok bool, why string) {
	have, err := Available()
	if err == nil && !have {
		_, err = fits(btf.NewCache())
	}
	if err != nil {
		return false, err.Error()
	}
	return true, ""
}

// Loads is Fits for a process that will register it: it asks the verifier too, in a tenth of a second. It needs CAP_BPF and
// CAP_PERFMON.
func Loads() (ok bool, why string) {
	if have, err := Available(); have && err == nil {
		return true, ""
	}
	r := &registered{}
	if err := errors.Join(r.load(Name), r.close()); err != nil {
		return false, err.Error()
	}
	return true, ""
}

func has(name string) (bool, error) {
	names, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return false, fmt.Errorf("read congestion controls: %w", err)
	}
	return slices.Contains(strings.Fields(string(names)), name), nil
}

// Provide registers cubic_lt where the kernel has no congestion control of that name yet, until release, which the caller must
// call, or until this process ends. An error says what the kernel lacks. It needs CAP_BPF and CAP_PERFMON, and Linux 6.4.
func Provide() (release func() error, err error) {
	if have, err := Available(); err != nil || have {
		return func() error { return nil }, err
	}
	_, release, err = Hold()
	return release, err
}

// Hold is Provide for a process that goes on. Where another one has registered cubic_lt, keep registers it once that one has
// ended, and needs no privilege but CAP_BPF: the program is loaded already. Call keep now and then; release ends it.
func Hold() (keep, release func() error, err error) {
	r := &registered{}
	if err := r.load(Name); err != nil {
		if have, _ := Available(); have { // built in, or of a process with more privileges
			return func() error { return nil }, func() error { return nil }, r.close()
		}
		return nil, nil, errors.Join(fmt.Errorf("register %s: %w", Name, err), r.close())
	}
	keep = func() error {
		if r.link != nil {
			return nil
		}
		if have, err := Available(); have || err != nil {
			return err
		}
		if err := r.attach(); err != nil && !errors.Is(err, unix.EEXIST) { // another one was quicker
			return fmt.Errorf("register %s: %w", Name, err)
		}
		return nil
	}
	if err := keep(); err != nil {
		return nil, nil, errors.Join(err, r.close())
	}
	return keep, r.close, nil
}

// PinPath is where a host has cubic_lt without a process, until a reboot or [Unpin].
const PinPath = "/sys/fs/bpf/congctl_cubic_lt"

// Pinned reports whether it is registered and pinned. To a user that may not look into bpffs what is registered counts as that.
func Pinned(path string) (bool, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrPermission):
		return false, err
	case err == nil && !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is no pinned program: remove it", path) // in a bpffs where all may write, anything
	}
	return Available()
}

// Pin registers cubic_lt and pins it at path, in a file system of type bpf.
func Pin(path string) error {
	r, err := registerAs(Name)
	if err != nil {
		return err
	}
	_ = os.Remove(path) // a pin whose registration was taken away, by bpftool; what is something else stays, and Pin says so
	if err := r.link.Pin(path); err != nil {
		return errors.Join(fmt.Errorf("pin %s, which needs a file system of type bpf there (mount -t bpf bpf %s): %w", Name, filepath.Dir(path), err), r.close())
	}
	return r.close() // the pin holds it
}

// unpinWait bounds how long the kernel may take to forget a name: it does that after the file is gone, on a queue of its own
// (bpf_link_put), and two periods of RCU.
const unpinWait = 2 * time.Second

// Unpin takes the name away. Connections that use it keep it. Where the name stays, another process has registered it.
func Unpin(path string) error {
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("unpin %s: %w", Name, err)
	}
	for end := time.Now().Add(unpinWait); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if have, err := Available(); err != nil || !have {
			return err
		}
	}
	return nil
}

// registerAs registers it under a name of 1 to 15 bytes.
func registerAs(name string) (*registered, error) {
	r := &registered{}
	err := r.load(name)
	if err == nil {
		err = r.attach()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("register %s: %w", name, err), r.close())
	}
	return r, nil
}

func (r *registered) attach() (err error) {
	r.link, err = link.AttachStructOps(link.StructOpsOptions{Map: r.objs.Maps[theMap]})
	if err != nil {
		r.link = nil // and no interface of a nil pointer
		return reason(err)
	}
	return nil
}

func (r *registered) load(name string) error {
	// Without CAP_BPF the library says that struct_ops needs the kernel's types, which are there.
	have, err := privilege.Effective()
	if err != nil {
		return err
	}
	for _, c := range []int{unix.CAP_BPF, unix.CAP_PERFMON} {
		if have&privilege.Of(c, unix.CAP_SYS_ADMIN) == 0 {
			return fmt.Errorf("not without %s: run as root, or grant it: %w", privilege.Of(c), unix.EPERM)
		}
	}
	types := btf.NewCache()
	signature, err := fits(types)
	if err != nil {
		return err
	}
	spec, err := LoadCubicLT()
	if err != nil {
		return err
	}
	choose(spec, signature)
	if err := rename(spec, name); err != nil {
		return err
	}
	if r.objs, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{}); err != nil {
		return reason(err)
	}
	return nil
}

// reason puts what a kernel answers into words.
func reason(err error) error {
	switch {
	case errors.Is(err, unix.EEXIST):
		return fmt.Errorf("it is registered already, by another process or a pin in bpffs: %w", err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("not permitted: a kernel that is locked down, a user namespace, a security module or seccomp forbids it: %w", err)
	}
	return err
}

// close unregisters it. Connections that use it keep it.
func (r *registered) close() (err error) {
	if r.link != nil {
		err = r.link.Close()
	}
	if r.objs != nil {
		r.objs.Close()
	}
	return err
}

// The signatures of cong_control, by their number of parameters: it has (sk, ack, flag, rs) since Linux 6.10, and had (sk, rs).
const (
	newSignature = 4
	oldSignature = 2
)

const (
	theMap     = "cubic_lt"
	newProgram = "cubic_lt_cong_control"
	oldProgram = "cubic_lt_cong_control_old"
)

// choose leaves the program for one signature.
func choose(spec *ebpf.CollectionSpec, signature int) {
	if signature == oldSignature {
		spec.Programs[newProgram].Instructions = spec.Programs[oldProgram].Instructions
	}
	delete(spec.Programs, oldProgram)
}

// rename changes the name in the struct that the program fills.
func rename(spec *ebpf.CollectionSpec, name string) error {
	const bytesOfName = 16 // TCP_CA_NAME_MAX
	data, ok := spec.Maps[theMap].Contents[0].Value.([]byte)
	at := bytes.Index(data, []byte(Name+"\x00"))
	if !ok || at < 0 || len(name) == 0 || len(name) >= bytesOfName || strings.Contains(name, "-") {
		return fmt.Errorf("name it %q: 1 to %d letters, digits, _ and .", name, bytesOfName-1)
	}
	copy(data[at:at+bytesOfName], make([]byte, bytesOfName))
	copy(data[at:], name)
	return nil
}

// fits returns the number of parameters of cong_control, or what of this kernel's types does not fit.
func fits(types *btf.Cache) (signature int, err error) {
	kernel, err := types.Kernel()
	if err != nil {
		return 0, fmt.Errorf("read the kernel's types, which CONFIG_DEBUG_INFO_BTF gives: %w", err)
	}
	var ops *btf.Struct
	if err := kernel.TypeByName("tcp_congestion_ops", &ops); err != nil {
		return 0, fmt.Errorf("find tcp_congestion_ops in the kernel's types: %w", err)
	}
	var links *btf.Struct
	if err := kernel.TypeByName("bpf_struct_ops_link", &links); err != nil {
		return 0, errors.New("this kernel has no struct_ops links, which Linux 6.4 and later have")
	}
	if signature, err = parameters(ops, "cong_control"); err != nil {
		return 0, err
	}
	cubic, err := cubicState(types, kernel)
	switch {
	case err != nil:
		return 0, err
	case cubic.Size > cubicBytes:
		return 0, fmt.Errorf("CUBIC keeps %d bytes a connection in this kernel, this program leaves it %d", cubic.Size, cubicBytes)
	}
	return signature, nil
}

// parameters returns the number of those of a function pointer in a struct.
func parameters(s *btf.Struct, member string) (int, error) {
	for _, m := range s.Members {
		if m.Name != member {
			continue
		}
		if p, ok := btf.As[*btf.Pointer](m.Type); ok {
			if f, ok := btf.As[*btf.FuncProto](p.Target); ok && (len(f.Params) == newSignature || len(f.Params) == oldSignature) {
				return len(f.Params), nil
			}
		}
	}
	return 0, fmt.Errorf("%s of %s is not known in this kernel's form", member, s.Name)
}

// cubicState finds struct bictcp in the kernel, or in its module.
func cubicState(types *btf.Cache, kernel *btf.Spec) (s *btf.Struct, err error) {
	err = kernel.TypeByName("bictcp", &s)
	if !errors.Is(err, btf.ErrNotFound) {
		return s, err
	}
	module, err := types.Module("tcp_cubic")
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat("/sys/module/tcp_cubic"); err == nil {
			return nil, errors.New("tcp_cubic is loaded without its types, which CONFIG_DEBUG_INFO_BTF_MODULES gives")
		}
		return nil, errors.New("CUBIC is neither in this kernel nor loaded with its types: modprobe tcp_cubic")
	}
	if err != nil {
		return nil, fmt.Errorf("read the types of tcp_cubic: %w", err)
	}
	if err := module.TypeByName("bictcp", &s); err != nil {
		return nil, fmt.Errorf("find CUBIC's state: %w", err)
	}
	return s, nil
}
