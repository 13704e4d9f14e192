package plan

import "strconv"

// Text writes the plan without a signature: the same plan gives the same bytes,
// whatever the order of its entries. A value that may not stand in a line is
// written with '?' in place of what is wrong; Validate refuses such a plan.
func (p *Plan) Text() []byte {
	b := p.body()
	sum := hashOf(b)
	b = append(b, hashPrefix...)
	b = append(b, sum...)
	return append(b, '\n')
}

// body is everything before the hash line.
func (p *Plan) body() []byte {
	b := make([]byte, 0, 1024+len(p.Entries)*160)
	b = append(b, magic+" "+version+"\n"...)
	for _, f := range header {
		b = append(b, f.name...)
		b = append(b, ' ')
		b = f.write(b, p)
		b = append(b, '\n')
	}
	b = append(b, "entries "...)
	b = strconv.AppendInt(b, int64(len(p.Entries)), 10)
	b = append(b, "\n"+columnsName+" "+columns+"\n"...)
	for _, e := range p.sorted() {
		b = appendEntry(b, e)
		b = append(b, '\n')
	}
	return b
}
