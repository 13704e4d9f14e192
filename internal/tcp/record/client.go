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

// ClientKey is what the hosts of a PoP number their clients by in the windows of one day. It is in no
// plan and no store: only the controller's and its agents' memory has it, so that a number that was kept
// tells no address to a reader of either.
type ClientKey struct {
	Day int64 // since 1970, UTC, of the window's start
	Key []byte
}

// ClientDay returns the day of a window, whose start is in Unix seconds.
func ClientDay(window int64) int64 { return window / (24 * 60 * 60) }

// ClientNumbers tell the clients of a network apart where the "addresses" rule keeps none of them: a
// keyed permutation of the numbers of each network, the same on all hosts that have the key. It takes the key
// to undo it, and a network whose clients are known shows nothing of another's.
//
// It is a Feistel network over the number's two halves of four bits,
//
//	left, right = right, left ^ F(round, right)
//
// whose round functions are tables that AES draws for the network, two a block (Luby and Rackoff, "How to construct
// pseudorandom permutations", 1988; eight rounds, as NIST SP 800-38G has for its small domains).
type ClientNumbers struct{ block cipher.Block }

const feistelRounds = 8

// NewClientNumbers takes a key of any length.
func NewClientNumbers(key []byte) *ClientNumbers {
	sum := sha256.Sum256(append([]byte("congctl client numbers "), key...))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	return &ClientNumbers{block: block}
}

// Of returns what Conn.Client is for a connection whose address is known.
func (n *ClientNumbers) Of(c *Conn) uint16 {
	number := c.ClientNumber()
	left, right := number>>4, number&15
	var tables [aes.BlockSize]byte
	for round := range feistelRounds {
		if round%2 == 0 {
			tables = [aes.BlockSize]byte{15: byte(round)}
			binary.BigEndian.PutUint64(tables[:], uint64(c.Prefix))
			n.block.Encrypt(tables[:], tables[:])
		}
		left, right = right, left^tables[right]>>(4*(round%2))&15
	}
	return 1 + uint16(left)<<4 + uint16(right)
}
