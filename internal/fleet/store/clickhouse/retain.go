package clickhouse

import (
	"context"
	"fmt"
)

// daySeconds is the length of a partition.
const daySeconds = 86400

// Retain drops the days that end before Unix second from, and returns how many. A day goes as a
// whole: dropping a partition removes its files and rewrites nothing.
func (s *Store) Retain(ctx context.Context, from int64) (days int, err error) {
	for _, table := range []string{connRecords, "window_ends"} {
		old, err := s.days(ctx, table, from/daySeconds)
		if err != nil {
			return days, err
		}
		for _, day := range old {
			if err := s.do(ctx, "drop day", fmt.Sprintf("ALTER TABLE %s DROP PARTITION %d", table, day)); err != nil {
				return days, err
			}
			days++
		}
	}
	return days, nil
}

// days lists the partitions of a table before a day.
func (s *Store) days(ctx context.Context, table string, before int64) (list []int64, err error) {
	ctx, done := context.WithTimeout(ctx, queryTime)
	defer done()
	rows, err := s.conn.Query(ctx, "SELECT DISTINCT toInt64(partition) AS day FROM system.parts WHERE database = ? AND table = ? AND active AND day < ? ORDER BY day",
		s.database, table, before)
	if err != nil {
		return nil, fmt.Errorf("list days: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var day int64
		if err := rows.Scan(&day); err != nil {
			return nil, fmt.Errorf("list days: %w", err)
		}
		list = append(list, day)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list days: %w", err)
	}
	return list, nil
}
