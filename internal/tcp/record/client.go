package record

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
)

// ClientNumber is the client's in its network: for an address of IPv4 its last byte, for IPv6 the
// byte of its /64, whose owner has all addresses in it; either is the one that follows the prefix.
// Where the address is not kept, it is the number that [ClientNumbers] put in its place.
func (c *Conn) ClientNumber() uint8 {
	if c.Client > 0 {
		return uint8(c.Client - 1)
	}
	a := c.Remote.Addr().As16()
	if c.Prefix.Is4() {
		return a[15]
	}
	return a[7]
}

// ClientNumbers tell the clients of a network apart where the "addresses" rule keeps none of them: a
// keyed permutation of the numbers of each network, the same on all hosts that have the key. It
// takes the key to undo it.
type ClientNumbers struct {
	block cipher.Block
	other [256]uint8
}

// NewClientNumbers takes the experiment's salt, which the hosts of a PoP share by its plan.
func NewClientNumbers(salt []byte) *ClientNumbers {
	key := sha256.Sum256(append([]byte("congctl client numbers "), salt...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	n := &ClientNumbers{block: block}
	for i := range n.other {
		n.other[i] = uint8(i)
	}
	for i := len(n.other) - 1; i > 0; i-- { // Fisher and Yates
		j := int(n.mix(uint64(i)<<56) % uint64(i+1))
		n.other[i], n.other[j] = n.other[j], n.other[i]
	}
	return n
}

func (n *ClientNumbers) mix(v uint64) uint64 {
	var b [aes.BlockSize]byte
	binary.LittleEndian.PutUint64(b[:], v)
	n.block.Encrypt(b[:], b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// Of returns what Conn.Client is for a connection whose address is known.
func (n *ClientNumbers) Of(c *Conn) uint16 {
	return 1 + uint16(n.other[c.ClientNumber()^uint8(n.mix(uint64(c.Prefix)))])
}
