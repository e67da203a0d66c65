"""Single machine first; explicit devices and whole slot counts; refusals that say by how much."""

from dataclasses import replace

import pytest

from evener.errors import ConfigurationError, NameUnknown
from evener.plan.candidates import Question, make_plan
from evener.plan.commands import Tools
from evener.plan.ram import within_ram
from evener.records.plan import Workload
from tests.rigs import GIB, MIB, card, cpu, rig, scan, seen, weights

TOOLS = Tools(engines={}, ports={})


def plan(model, *hosts, layout="auto", names=("alpha", "beta"), workload=None):
    question = Question(
        rig=rig(*names), scan=scan(*hosts), weights=model, workload=workload or Workload(context=1024), tools=TOOLS
    )
    return make_plan(question, layout=layout)


def flag(argv, name):
    return argv[argv.index(name) + 1]


def two_gpus():
    return seen("alpha", card("RTX 5090", 2 * GIB)), seen("beta", card("RTX 5080", 1 * GIB))


def test_a_model_that_fits_one_host_stays_there():
    made = plan(weights(), *two_gpus())
    assert made.verdict.choice == "alpha"
    assert made.verdict.kind == "host"
    assert "fits on alpha alone" in made.verdict.sentence


def test_forcing_the_cluster_says_that_one_host_would_do():
    made = plan(weights(), *two_gpus(), layout="cluster")
    assert made.verdict.choice == "cluster"
    assert "It also fits on alpha alone" in made.verdict.sentence


def test_a_model_for_neither_host_alone_is_split_between_them():
    made = plan(weights(blocks=20), *two_gpus())  # 2000 MiB and a head of 50
    assert made.verdict.choice == "cluster"
    cluster = made.candidate("cluster")
    assert [d.host for d in cluster.devices] == ["beta", "alpha"]
    assert [d.device for d in cluster.devices] == ["RPC0", "CUDA0"]
    assert sum(d.layers for d in cluster.devices) == 21


def test_the_output_head_is_on_the_heads_own_card():
    cluster = plan(weights(blocks=20), *two_gpus()).candidate("cluster")
    assert cluster.devices[-1].host == "alpha"


def test_command_lines_name_devices_counts_and_endpoints():
    cluster = plan(weights(blocks=20), *two_gpus(), workload=Workload(context=1024, users=2)).candidate("cluster")
    server, worker = cluster.servers[0].argv, cluster.workers[0].argv
    counts = [d.layers for d in cluster.devices]
    assert flag(server, "--device") == "RPC0,CUDA0"
    assert flag(server, "-ts") == ",".join(map(str, counts))
    assert flag(server, "--rpc") == "127.0.0.2:50052"
    assert (flag(server, "-np"), flag(server, "-c")) == ("2", "2048")
    assert server.index("--rpc") < server.index("--device"), "the engine acts on --device as it reads it"
    assert (flag(worker, "-H"), flag(worker, "-p"), flag(worker, "-d")) == ("127.0.0.2", "50052", "CUDA0")
    assert cluster.servers[0].env["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_nothing_listens_beyond_the_addresses_of_the_rig():
    cluster = plan(weights(blocks=20), *two_gpus()).candidate("cluster")
    assert {c.listen for c in (*cluster.workers, *cluster.servers)} == {"127.0.0.2:50052", "127.0.0.1:8080"}


def test_a_cpu_alone_is_the_engine_without_devices():
    alone = plan(weights(), seen("alpha", cpu()), names=("alpha",)).candidate("alpha")
    assert flag(alone.servers[0].argv, "--device") == "none"
    assert alone.workers == ()
    assert alone.devices[0].device == "CPU"
    assert alone.devices[0].layers == 5


def test_the_cpu_of_the_head_is_served_by_a_worker_in_a_cluster():
    made = plan(weights(), seen("alpha", cpu()), seen("beta", cpu()), layout="cluster")
    cluster = made.candidate("cluster")
    assert [d.device for d in cluster.devices] == ["RPC0", "RPC1"]
    assert [w.host for w in cluster.workers] == ["beta", "alpha"]
    assert flag(cluster.servers[0].argv, "--rpc") == "127.0.0.2:50052,127.0.0.1:50052"


def test_two_hosts_on_one_machine_share_its_cores():
    hosts = (seen("alpha", cpu(), machine="one", cores=8), seen("beta", cpu(), machine="one", cores=8))
    cluster = plan(weights(), *hosts, layout="cluster").candidate("cluster")
    assert [flag(w.argv, "-t") for w in cluster.workers] == ["4", "4"]


def test_two_hosts_on_one_machine_share_its_memory():
    # 32 GiB are available on the machine; each host may count on half.
    hosts = (seen("alpha", cpu(32 * GIB), machine="one"), seen("beta", cpu(32 * GIB), machine="one"))
    heavy = weights(blocks=200)  # 20 GiB
    assert not plan(heavy, *hosts).candidate("alpha").fits
    assert plan(heavy, *hosts).candidate("cluster").fits


def test_a_card_that_gets_no_slot_is_left_out_of_the_command_line():
    hosts = (seen("alpha", card("big", 4 * GIB)), seen("beta", card("small", 500 * MIB)))  # less than its overhead
    cluster = plan(weights(), *hosts, layout="cluster").candidate("cluster")
    assert [d.host for d in cluster.devices] == ["alpha"]
    assert "--rpc" not in cluster.servers[0].argv


def test_excluded_cards_are_never_planned():
    host = seen("alpha", card("GT 1030", 2 * GIB, excluded=True), cpu())
    assert plan(weights(), host, names=("alpha",)).candidate("alpha").devices[0].device == "CPU"


def test_refusal_says_by_how_much():
    made = plan(weights(blocks=400), *two_gpus())
    assert made.verdict.choice is None
    assert made.verdict.kind == "none"
    # 40 000 MiB of blocks and the head, less what the two cards of 3 GiB have beside overhead and compute
    assert "cluster comes nearest and is" in made.verdict.sentence
    assert all(not c.fits and c.short_bytes > 0 for c in made.candidates)


def test_a_host_without_the_ram_for_the_largest_tensor_is_refused():
    made = plan(weights(largest_tensor_bytes=33 * GIB), *two_gpus())
    assert "alpha needs 33.1 GiB of RAM" in made.candidate("alpha").why_not


def test_unknown_layout_names_the_known_ones():
    with pytest.raises(NameUnknown) as caught:
        plan(weights(), *two_gpus(), layout="gamma")
    assert caught.value.hint == "one of: auto, alpha, beta, cluster, cluster-by-memory"


def test_more_context_than_the_model_knows_is_said():
    made = plan(weights(), *two_gpus(), workload=Workload(context=16384))
    assert "16384 tokens per user are asked, but the model was trained for 8192" in made.verdict.reasons


def test_every_slot_is_planned_once_and_bytes_add_up():
    model = weights(blocks=20)
    cluster = plan(model, *two_gpus()).candidate("cluster")
    assert sum(d.weights_bytes for d in cluster.devices) == sum(model.slot_bytes)
    for device in cluster.devices:
        parts = device.weights_bytes + device.kv_bytes + device.compute_bytes + device.overhead_bytes
        assert device.total_bytes == parts


def test_checkpoints_of_long_conversations_are_a_warning_and_refuse_no_host():
    model = weights(recurrent_bytes_per_sequence=(2 * GIB, 0, 0, 0))
    host = seen("alpha", card("RTX 5090", 30 * GIB))  # and 32 GiB of RAM available
    made = plan(model, host, names=("alpha",), workload=Workload(context=32768, users=6))
    alone = made.candidate("alpha")
    assert alone.fits
    # six slots keep four of 2 GiB each; a little less than 32 GiB are left, which is two for each slot
    (warning,) = alone.warnings
    assert warning.startswith("full contexts may take 48.0 GiB of RAM for checkpoints and ")
    assert warning.endswith("-ctxcp 2 keeps fewer")
    assert f"alpha: {warning}" in made.verdict.reasons
    roomy = plan(model, host, names=("alpha",), workload=Workload(context=16384, users=6)).candidate("alpha")
    assert roomy.warnings == ()


def test_drafts_need_a_model_that_has_something_to_draft_with():
    with pytest.raises(ConfigurationError, match="--drafts: tiny has no MTP blocks to draft with"):
        plan(weights(), *two_gpus(), workload=Workload(context=1024, drafts=3))
    made = plan(weights(mtp_layers=1), *two_gpus(), workload=Workload(context=1024, drafts=3))
    argv = made.candidate("alpha").servers[0].argv
    assert (flag(argv, "--spec-type"), flag(argv, "--spec-draft-n-max")) == ("draft-mtp", "3")


def test_a_host_without_a_card_leaves_nothing_to_its_cpu_for_all_is_there_already():
    sparse = weights(blocks=8, block_bytes=GIB, experts=8, experts_used=2, slot_expert_bytes=(GIB // 2,) * 8 + (0,))
    made = plan(sparse, seen("alpha", cpu(4 * GIB)), names=("alpha",))
    assert [(c.name, c.fits) for c in made.candidates] == [("alpha", False)]


def test_a_refused_layout_keeps_its_own_reason_whatever_a_dry_run_found():
    poor = replace(seen("alpha", card("RTX 5090", 8 * GIB)), memory_available_bytes=GIB)
    refused = plan(weights(largest_tensor_bytes=4 * GIB), poor, names=("alpha",)).candidate("alpha")
    assert not refused.fits
    assert refused.host_bytes
    assert within_ram(refused, scan(poor)) == refused


@pytest.mark.parametrize("name", ["RTX 3060", "Unheard of"])
@pytest.mark.parametrize("blocks", [16, 36, 47])
def test_no_layout_uses_more_devices_than_the_engine_takes_values(name, blocks):
    many = [card(name, 4 * GIB, device=f"CUDA{i}") for i in range(17)]
    made = plan(weights(blocks=blocks, block_bytes=GIB), seen("alpha", card(name, 4 * GIB)), seen("beta", *many))
    assert {c.name for c in made.candidates} >= {"beta", "cluster"}
    assert [c.name for c in made.candidates if max((d.position for d in c.devices), default=0) > 14] == []
    assert made.candidate("cluster").fits == (blocks < 47), "three blocks on each of 15 cards"
