"""Attention without a body against fp64 and cuDNN, on the cubins of `cargo xtask attention-cubins FOLDER`.

`python run.py check SECONDS PROBLEMS_OF_A_KERNEL` and `python run.py speed ROUNDS`, with the folder behind either where it is another.
"""
import math
import random
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import kernels

FOLDER = sys.argv[-1] if "/" in sys.argv[-1] else kernels.FOLDER
variants = kernels.variants(FOLDER)


def sizes(batch, heads, groups, queries, keys):
    return dict(batch=batch, heads=heads, groups=groups, queries=queries, keys=keys)


def reference(q,k,v,scale,causal,window):
    q,k,v=[x.double() for x in (q,k,v)]
    g=q.shape[1]//k.shape[1]; k=k.repeat_interleave(g,1); v=v.repeat_interleave(g,1)
    s=(q@k.transpose(-1,-2))*scale
    mag=(q.abs()@k.abs().transpose(-1,-2))*scale
    sq,sk=s.shape[-2:]
    i=torch.arange(sq,device="cuda")[:,None]+sk-sq; j=torch.arange(sk,device="cuda")[None]
    m=torch.ones(sq,sk,dtype=torch.bool,device="cuda")
    if causal: m&=j<=i
    if window: m&=(i-j).abs()<window
    s=s.masked_fill(~m,-math.inf); mag=mag.masked_fill(~m,0)
    lse=torch.logsumexp(s,-1)
    p=torch.exp(s-lse[...,None]); p=torch.where(m,p,torch.zeros_like(p)); p=torch.where(m.any(-1)[:,None],p,torch.zeros_like(p))
    slack=mag.max(-1,keepdim=True).values
    return p@v, lse, p@v.abs(), slack
def correctness(seconds,per):
    rnd=random.Random(7); torch.manual_seed(1); bad=0; n=0; t0=time.time(); worst=0
    for v in [x for x in variants if x["check"]]:
        kern=kernels.Kernel(v,FOLDER); vbad=0
        for it in range(per):
            if time.time()-t0>seconds: break
            D,DV=v["D"],v["DV"]; dt=torch.float16 if v.get("T")=="f16" else torch.bfloat16
            b=rnd.randint(1,3); hk=rnd.randint(1,3); g=rnd.choice([1,1,2,3,4]); b,hk,g=(b,hk,g) if rnd.random()<.8 else (4,4,8); h=hk*g
            sq=rnd.choice([1,rnd.randint(1,64),rnd.randint(1,700),128,256,rnd.randint(1,2500)]); sk=rnd.choice([1,rnd.randint(1,700),sq,sq,256,sq+rnd.randint(0,300)])
            def mk(h,s,d,amp=1.0):
                if rnd.random()<.5: t=torch.randn(b,h,s+rnd.randint(0,3),d+8*rnd.randint(0,2),device="cuda")[:,:,:s,:d]*amp; return t.to(dt) if rnd.random()<.5 else torch.empty(b,h,s+2,d+8,device="cuda",dtype=dt)[:,:,:s,:d].copy_(t)
                base=torch.randn(b,s,h,d,device="cuda",dtype=torch.float32)*amp
                return base.to(dt).transpose(1,2)
            amp=rnd.choice([1,1,1,30.0])
            q,k,vv=mk(h,sq,D,amp),mk(hk,sk,D),mk(hk,sk,DV)
            nan=rnd.random()<.1
            if nan: q[b-1,h-1,sq-1,D-1]=math.nan
            big=torch.full((b*h*sq*DV+1000+8*b*h*sq,),7.0,device="cuda",dtype=dt)
            row=DV+rnd.choice([0,8])
            if rnd.random()<.5: st=(sq*h*row,row,h*row,1)
            else: st=(sq*h*row,sq*row,row,1)
            o=big.as_strided((b,h,sq,DV),st,256)
            lse=torch.full((b*h*sq+64,),7.0,device="cuda")
            lv=lse[32:32+b*h*sq].view(b,h,sq)
            outs=[]
            for r in range(2):
                big.fill_(7.0); lse.fill_(7.0)
                kern.prepare([q,k,vv,o,lv],sizes(b,h,hk,sq,sk))(); torch.cuda.synchronize(); outs.append((big.clone(),lse.clone()))
            same=torch.equal(outs[0][0].view(torch.int16),outs[1][0].view(torch.int16)) and torch.equal(outs[0][1].view(torch.int32),outs[1][1].view(torch.int32))
            ref,rl,pa,slack=reference(q,k,vv,v["SCALE"],v["causal"],v["WINDOW"])
            eps=2.0**-8 if dt==torch.bfloat16 else 2.0**-11
            lim=pa*(2.1*eps+8e-6+slack*2.0**-20)+(1e-30 if dt==torch.bfloat16 else 1e-7)+ (0 if dt==torch.bfloat16 else pa*0+6e-8*sk)
            e=(o.double()-ref).abs()
            okm=(e<=lim)|(torch.isnan(o)&torch.isnan(ref))
            ratio=torch.nan_to_num((e/lim)).max().item(); worst=max(worst,ratio)
            le=(lv.double()-rl).abs(); okl=(le<=1e-5+rl.abs()*1e-6+slack[...,0]*2.0**-20)|(lv==rl)|(torch.isnan(lv)&torch.isnan(rl))
            c=big.clone(); c.as_strided((b,h,sq,DV),st,256).fill_(7.0); guard=bool((c==7.0).all()) and bool((lse[:32]==7).all()) and bool((lse[32+b*h*sq:]==7).all())
            n+=1
            left=all(bool((it==0).all()) for of in kern.workspace.values() for it in of)
            if not(okm.all() and okl.all() and same and guard and left):
                bad+=1; vbad+=1
                if vbad<=3: print("BAD",v["name"],dict(b=b,hk=hk,g=g,sq=sq,sk=sk,amp=amp,nan=nan),"out",(~okm).sum().item(),"lse",(~okl).sum().item(),"same",same,"guard",guard,"zeros",left,"ratio",ratio,flush=True)
        print("checked",v["name"],"bad",vbad,flush=True)
    print(f"correctness: {n} problems, {bad} bad, worst error/limit {worst:.2f}",flush=True)
def speed(rounds):
    for (D,H,DV) in [(128,16,128),(64,32,64),(256,8,256)]:
        for causal in (False,True):
            for (B,S) in [(32,512),(8,2048),(2,8192),(1,16384)]:
                vs=[x for x in variants if x["speed"] and x["D"]==D and x["DV"]==DV and x["causal"]==causal]
                if not vs: continue
                sets=[]
                q,k,v=[torch.randn(B,H,S,D,device="cuda").to(torch.bfloat16) for _ in range(3)]
                o=torch.empty_like(q); lse=torch.empty(B,H,S,device="cuda")
                flops=4*B*H*S*S*D*(0.5 if causal else 1)
                runs={}
                def cudnn():
                    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION): F.scaled_dot_product_attention(q,k,v,is_causal=causal)
                runs["cudnn"]=cudnn
                for x in vs:
                    runs[x["name"]]=kernels.Kernel(x,FOLDER).prepare([q,k,v,o,lse],sizes(B,H,H,S,S))
                n=max(3,int(4e-3/(flops/550e12)))
                for f in runs.values():
                    for _ in range(2): f()
                times={m:[] for m in runs}
                for r in range(rounds):
                    for m,f in runs.items():
                        a,bb=torch.cuda.Event(enable_timing=True),torch.cuda.Event(enable_timing=True)
                        f(); a.record()
                        for _ in range(n): f()
                        bb.record(); bb.synchronize(); times[m].append(a.elapsed_time(bb)/n)
                med={m:sorted(t)[len(t)//2] for m,t in times.items()}
                base=flops/med["cudnn"]/1e9
                print(f"d{D} {'causal' if causal else 'full'} S{S}: cudnn {base:.0f} | "+"  ".join(f"{m} {flops/t/1e9:.0f} ({med['cudnn']/t:.3f})" for m,t in med.items() if m!="cudnn"),flush=True)
if __name__=="__main__":
    mode=sys.argv[1]
    if mode=="check": correctness(float(sys.argv[2]),int(sys.argv[3]))
    if mode=="speed": speed(int(sys.argv[2]))
