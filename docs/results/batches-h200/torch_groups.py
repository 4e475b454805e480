import torch, random, math
torch.manual_seed(0)
dev="cuda"
SHAPES=[(8,1024,4096,7168,False),(4,8192,4096,7168,False),(32,128,2048,7168,False),(64,16,1536,2048,False),(64,64,1536,2048,True),(128,32,1536,2048,True),(32,512,2048,4096,True)]
def sizes(g,mean,drawn):
    if not drawn: return [mean]*g
    w=[1/(1+r) for r in range(g)]; t=sum(w); s=[int(x/t*g*mean) for x in w]
    rng=random.Random(9); rng.shuffle(s)
    for _ in range(g//8): s[rng.randrange(g)]=0
    return s
def timed(fn, n, reps=12, launches=8):
    g=torch.cuda.CUDAGraph()
    s=torch.cuda.Stream(); s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for i in range(n): fn(i)
    torch.cuda.synchronize()
    with torch.cuda.graph(g):
        for i in range(launches): fn(i%n)
    for _ in range(3): g.replay()
    ts=[]
    for _ in range(reps):
        a,b=torch.cuda.Event(enable_timing=True),torch.cuda.Event(enable_timing=True)
        a.record(); g.replay(); b.record(); b.synchronize(); ts.append(a.elapsed_time(b)/launches)
    return sorted(ts)[len(ts)//2]
for g,mean,n,k,drawn in SHAPES:
    s=sizes(g,mean,drawn); m=sum(s); offs=torch.tensor([sum(s[:i+1]) for i in range(g)],dtype=torch.int32,device=dev)
    c=max(2,min(8,math.ceil((160<<20)/(2*(m*k+g*n*k+m*n)))))
    X=[torch.rand(m,k,device=dev,dtype=torch.bfloat16)*2-1 for _ in range(c)]; W=[torch.rand(g,n,k,device=dev,dtype=torch.bfloat16)*2-1 for _ in range(c)]
    out=torch.empty(m,n,device=dev,dtype=torch.bfloat16)
    starts=[sum(s[:i]) for i in range(g)]
    def grouped(i): return torch._grouped_mm(X[i],W[i].transpose(1,2),offs=offs)
    def loop(i):
        for j in range(g):
            if s[j]: torch.mm(X[i][starts[j]:starts[j]+s[j]],W[i][j].t(),out=out[starts[j]:starts[j]+s[j]])
    row=[]
    for f in (grouped,loop):
        try: row.append("%.4f"%timed(f,c))
        except Exception as e: row.append(repr(e)[:60])
    if not drawn:
        O=torch.empty(g,mean,n,device=dev,dtype=torch.bfloat16)
        row.append("%.4f"%timed(lambda i: torch.bmm(X[i].view(g,mean,k),W[i].transpose(1,2),out=O),c))
    print(f"{g:4d} x {mean:5d}x{n}x{k} {'drawn' if drawn else 'even':6s} rows {m}: _grouped_mm {row[0]}  loop {row[1]}  bmm {row[2] if len(row)>2 else '-'} ms", flush=True)
    del X,W,out
