package bare

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres inserts rows through the client's own pool, with as many connections as that has by default.
type postgres struct{ pool *pgxpool.Pool }

func openPostgres(ctx context.Context, hosts []string) (*postgres, error) {
	pool, err := pgxpool.New(ctx, "postgres://rota@"+hosts[0]+"/rota?sslmode=disable")
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, "CREATE TABLE bare (id bigserial PRIMARY KEY, data bytea NOT NULL)"); err != nil {
		pool.Close()
		return nil, err
	}
	return &postgres{pool}, nil
}

func (b *postgres) Write(ctx context.Context, data []byte) error {
	_, err := b.pool.Exec(ctx, "INSERT INTO bare (data) VALUES ($1)", data)
	return err
}

func (b *postgres) Batch(ctx context.Context, data []byte, n int) error {
	all := make([][]byte, n)
	for i := range all {
		all[i] = data
	}
	_, err := b.pool.Exec(ctx, "INSERT INTO bare (data) SELECT unnest($1::bytea[])", all)
	return err
}

func (b *postgres) Applied(ctx context.Context, data []byte) error {
	var id int64
	if err := b.pool.QueryRow(ctx, "INSERT INTO bare (data) VALUES ($1) RETURNING id", data).Scan(&id); err != nil {
		return err
	}
	var back []byte
	err := b.pool.QueryRow(ctx, "SELECT data FROM bare WHERE id = $1", id).Scan(&back)
	if err == nil && len(back) != len(data) {
		err = fmt.Errorf("row %d is not there", id)
	}
	return err
}

func (b *postgres) Close() error {
	b.pool.Close()
	return nil
}
