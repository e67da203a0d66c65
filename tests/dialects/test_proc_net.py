from evener.dialects.proc_net import is_taken, listening, reached

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0 100 0 0 10 0
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12346 1 0 100 0 0 10 0
   2: 0100007F:A1B2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 12347 1 0 100 0 0 10 0
"""


def test_only_listeners_are_read():
    assert listening(TABLE) == {("127.0.0.1", 8080), ("0.0.0.0", 22)}


def test_the_far_end_of_a_connection_is_whom_it_reaches():
    assert reached(TABLE) == {("127.0.0.1", 8080)}


def test_a_port_is_taken_on_its_own_address_only():
    assert is_taken(listening(TABLE), "127.0.0.1", 8080)
    assert not is_taken(listening(TABLE), "127.0.0.2", 8080)


def test_a_listener_on_every_address_takes_the_port_everywhere():
    assert is_taken(listening(TABLE), "10.0.0.2", 22)


TABLE6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when
   0: 00000000000000000000000000000000:7D0A 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 1
   1: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 2
   2: 0000000000000000FFFF00000100007F:1F92 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 3
"""


def test_ipv6_listeners_are_read_too():
    assert listening(TABLE6) == {("::", 32010), ("::1", 8081), ("127.0.0.1", 8082)}


def test_a_dual_stack_listener_takes_the_port_of_every_ipv4_address():
    assert is_taken(listening(TABLE, TABLE6), "127.0.0.1", 32010)
    assert not is_taken(listening(TABLE, TABLE6), "127.0.0.1", 8081)
