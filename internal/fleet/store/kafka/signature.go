package kafka

import "github.com/twmb/franz-go/pkg/kgo"

// A client that may write to the topic can write any key and any batch. So a batch bears its sender's signature, in headers: a
// reader that does not know them reads the batch as before.
const (
	headerSignature   = "signature"
	headerCertificate = "certificate" // in DER, the sender's first, then those that lead to the authority
)

// Signature is of a message, with the certificates by which it is verified.
type Signature struct {
	Bytes []byte
	Chain [][]byte
}

// Sign signs a message.
type Sign func(message []byte) (Signature, error)

// Verify refuses a message that its sender did not sign.
type Verify func(message []byte, s Signature) error

func (s Sign) headers(message []byte) ([]kgo.RecordHeader, error) {
	if s == nil {
		return nil, nil
	}
	of, err := s(message)
	if err != nil {
		return nil, err
	}
	headers := []kgo.RecordHeader{{Key: headerSignature, Value: of.Bytes}}
	for _, der := range of.Chain {
		headers = append(headers, kgo.RecordHeader{Key: headerCertificate, Value: der})
	}
	return headers, nil
}

// maxChain is beyond what any authority needs: each certificate costs the reader time.
const maxChain = 4

func signatureOf(r *kgo.Record) (s Signature) {
	for _, h := range r.Headers {
		switch {
		case h.Key == headerSignature:
			s.Bytes = h.Value
		case h.Key == headerCertificate && len(s.Chain) < maxChain:
			s.Chain = append(s.Chain, h.Value)
		}
	}
	return s
}
