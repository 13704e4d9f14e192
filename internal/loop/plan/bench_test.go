package plan

import (
	"fmt"
	"testing"

	"github.com/congctl/congctl/internal/tcp/ranges"
	"github.com/congctl/congctl/internal/tcp/record"
)

func benchPlan(n int) *Plan {
	p := testPlan()
	seen := map[record.Prefix]bool{}
	for _, pfx := range randomPrefixes(2 * n) {
		if _, special := ranges.Special(pfx.Netip()); special || seen[pfx] || len(p.Entries) == n {
			continue
		}
		seen[pfx] = true
		p.Entries = append(p.Entries, Entry{Prefix: pfx, Cong: "bbr", State: StateSelected, Since: noon,
			Reason: "duty 0.94, flap 0.03, p50 1.25 Mbit/s below 4.10 Mbit/s"})
	}
	p.Sort()
	return p
}

func bySize(b *testing.B, run func(b *testing.B, p *Plan)) {
	for _, n := range []int{500, 10_000} {
		p := benchPlan(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			run(b, p)
		})
	}
}

func BenchmarkText(b *testing.B) {
	bySize(b, func(b *testing.B, p *Plan) {
		for b.Loop() {
			p.Text()
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	bySize(b, func(b *testing.B, p *Plan) {
		file := p.Sign(testKey)
		b.SetBytes(int64(len(file)))
		for b.Loop() {
			if _, err := Open(file, testPub()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	bySize(b, func(b *testing.B, p *Plan) {
		file := p.Text()
		b.SetBytes(int64(len(file)))
		for b.Loop() {
			if _, _, err := Parse(file); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	bySize(b, func(b *testing.B, p *Plan) {
		l := limitsOf("ams1", []string{"bbr"}, noon)
		l.Max = len(p.Entries)
		for b.Loop() {
			if err := Validate(p, p, l); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkProgram(b *testing.B) {
	bySize(b, func(b *testing.B, p *Plan) {
		for b.Loop() {
			p.Program(noon*second, 0, 900*second)
		}
	})
}

func BenchmarkArmAt(b *testing.B) {
	p := benchPlan(500)
	for name, pfx := range map[string]string{"in": p.Entries[250].Prefix.String(), "out": "203.0.113.0/24"} {
		pfx := mustPrefix(pfx)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.ArmAt(pfx, noon)
			}
		})
	}
}
