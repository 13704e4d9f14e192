package vm

import "encoding/binary"

// QEMU keeps the state of a machine in a drive in its own format. To avoid needing a tool
// for that, we write an empty drive: a header and three tables (docs/interop/qcow2.txt).
// No guest sees it.
//
//	cluster 0  header
//	cluster 1  refcount table: where cluster 2 is
//	cluster 2  refcounts: these four clusters are in use once
//	cluster 3  L1 table: nothing has been written

const (
	clusterBits = 16
	cluster     = 1 << clusterBits
	driveSize   = 1 << 20 // bytes of the unused disk
)

func emptyDrive() []byte {
	b := make([]byte, 4*cluster)
	big := binary.BigEndian
	copy(b, "QFI\xfb")
	big.PutUint32(b[4:], 3) // version
	big.PutUint32(b[20:], clusterBits)
	big.PutUint64(b[24:], driveSize)
	big.PutUint32(b[36:], 1)         // entries of the L1 table
	big.PutUint64(b[40:], 3*cluster) // the L1 table
	big.PutUint64(b[48:], 1*cluster) // the refcount table
	big.PutUint32(b[56:], 1)         // its clusters
	big.PutUint32(b[96:], 4)         // a refcount has 2^4 bits
	big.PutUint32(b[100:], 104)      // length of this header
	big.PutUint64(b[cluster:], 2*cluster)
	for i := range 4 {
		big.PutUint16(b[2*cluster+2*i:], 1)
	}
	return b
}
