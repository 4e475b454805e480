-- A study: what is to be measured, by whom it is being measured, and what came of it.

create schema autokernel;

-- What all who take part agree on.
create table autokernel.study (
    version integer not null,
    -- How long a worker holds what it took without a sign of life.
    lease interval not null,
    -- How many workers may be lost over one schedule before it is blamed.
    attempts integer not null,
    created_at timestamptz not null default now(),
    only_one boolean primary key default true check (only_one)
);

-- A target (problem, arch, extents) in an environment (GPU, driver, nvcc, kernel sources).
create table autokernel.task (
    id bigint generated always as identity primary key,
    key bytea not null unique,
    target json not null,
    environment json not null
);

-- What a worker does in one go: try a schedule, hold a final, time cuBLAS.
create table autokernel.work (
    id bigint generated always as identity primary key,
    task bigint not null references autokernel.task,
    key bytea not null unique,
    kind text not null check (kind in ('trial', 'compare', 'reference')),
    request json not null,
    result json,
    recorded_at timestamptz check ((recorded_at is null) = (result is null)),
    -- Which lease is the last; results of earlier ones come too late.
    attempt integer not null default 0,
    -- How many leases ended without a result because their worker said so.
    given_back integer not null default 0,
    worker text,
    lease_until timestamptz,
    -- Whether the kernels are in the cache that workers share. Finals compile nothing new.
    compiled boolean not null default false,
    -- Which lease of those who only compile is the last, until when it lasts, and how many ended without a word.
    compile_attempt integer not null default 0,
    compile_until timestamptz,
    compile_lost integer not null default 0
) with (fillfactor = 80);

create index work_open on autokernel.work (task, id) where result is null;
create index work_compiled on autokernel.work (task, id) where result is null and compiled;
create index work_uncompiled on autokernel.work (task, id) where result is null and not compiled;
create index work_being_compiled on autokernel.work (task, id)
    where result is null and not compiled and compile_until is not null;
create index work_recorded on autokernel.work (recorded_at, id) where result is not null;
create index work_recorded_of_task on autokernel.work (task, recorded_at) where result is not null;

-- Results of leases that were lost before: kept, and not counted.
create table autokernel.late (
    work bigint not null references autokernel.work,
    attempt integer not null,
    worker text not null,
    result json not null,
    came_at timestamptz not null default now(),
    primary key (work, attempt)
);

-- What a journal holds beside trials: finals and references.
create table autokernel.line (
    id bigint generated always as identity primary key,
    task bigint not null references autokernel.task,
    key bytea not null unique,
    body json not null
);

create index line_of_task on autokernel.line (task, id);

create table autokernel.worker (
    name text primary key,
    role text not null check (role in ('measure', 'compile', 'search')),
    -- The GPUs that it measures on; none if it replays or does something else.
    kind json,
    seen_at timestamptz not null
);

-- What somebody wants to be fast: a problem at a shape, whatever the GPU.
create table autokernel.demand (
    id bigint generated always as identity primary key,
    key bytea not null unique,
    body json not null,
    asked_at timestamptz not null default now()
);

-- The searches of demands, a row for each kind of GPU once somebody has taken it.
create table autokernel.search (
    task bigint primary key references autokernel.task,
    -- Which lease is the last.
    attempt integer not null default 1,
    searcher text not null,
    lease_until timestamptz,
    done_at timestamptz
);
