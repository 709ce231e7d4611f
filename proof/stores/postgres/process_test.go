package postgres_test

const holderVariable = "ROTA_TEST_POSTGRES_HOLDER"

func hold(string) error { return nil }
